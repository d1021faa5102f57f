#include "parser/job_log/find_mark.h"

#include <algorithm>
#include <cstring>

#include "trace/log/log_format.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define PIPETRACE_HAS_AVX2 1
#include <immintrin.h>
#endif

namespace pipetrace {
namespace {

constexpr std::string_view kMark = log_format::kMark;

#ifdef PIPETRACE_HAS_AVX2

/// Looks at 32 bytes at a time: for the first and the fourth letter of the mark, and for line ends.
__attribute__((target("avx2,bmi,bmi2,popcnt"))) FoundMark findMarkByVectors(std::string_view text) {
  constexpr int kSecondLetter = 3;  // 'f': rarer than its neighbours
  constexpr int kWidth = 32;
  const __m256i firstLetter = _mm256_set1_epi8(kMark[0]);
  const __m256i secondLetter = _mm256_set1_epi8(kMark[kSecondLetter]);
  const __m256i lineEnd = _mm256_set1_epi8('\n');
  const char* at = text.data();
  const char* const end = at + text.size();
  std::int64_t lineEnds = 0;
  for (; end - at >= kWidth + kSecondLetter; at += kWidth) {
    const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m256i ahead = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + kSecondLetter));
    auto candidates = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_and_si256(
        _mm256_cmpeq_epi8(here, firstLetter), _mm256_cmpeq_epi8(ahead, secondLetter))));
    const auto lines =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(here, lineEnd)));
    for (; candidates != 0; candidates &= candidates - 1) {
      const int i = __builtin_ctz(candidates);
      const auto left = static_cast<std::size_t>(end - at - i);
      if (left >= kMark.size() && std::memcmp(at + i, kMark.data(), kMark.size()) == 0) {
        return {at + i, lineEnds + __builtin_popcount(lines & ((1U << i) - 1))};
      }
    }
    lineEnds += __builtin_popcount(lines);
  }
  const FoundMark inRest = findMarkByBytes({at, static_cast<std::size_t>(end - at)});
  return {inRest.at, lineEnds + inRest.lineEnds};
}

#endif

}  // namespace

FoundMark findMarkByBytes(std::string_view text) {
  const char* const at = text.data() + std::min(text.find(kMark), text.size());
  return {at, std::count(text.data(), at, '\n')};
}

FoundMark findMark(std::string_view text) {
#ifdef PIPETRACE_HAS_AVX2
  static const bool hasVectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
                                 __builtin_cpu_supports("popcnt");
  if (hasVectors) return findMarkByVectors(text);
#endif
  return findMarkByBytes(text);
}

}  // namespace pipetrace
