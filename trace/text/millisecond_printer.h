#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "trace/nanoseconds.h"
#include "trace/text/decimal_digits.h"

namespace pipetrace {

/// Does what printMilliseconds() does, for many times that are close together: it keeps the digits
/// of the last millisecond and of its second. Not thread-safe.
class MillisecondPrinter {
 public:
  static constexpr std::size_t kRoom = 32;

  /// Writes the characters of printMilliseconds(to, time) into memory with kRoom. Returns the end.
  char* print(char* to, Nanoseconds time) {
    std::uint64_t rest = static_cast<std::uint64_t>(time) - millisecond_;
    if (rest >= length_) {
      const std::uint64_t inSecond = static_cast<std::uint64_t>(time) - second_;
      if (inSecond >= secondLength_) [[unlikely]]
        return printAnew(to, time);
      rest = startMillisecond(inSecond);
    }
    std::memcpy(to, digits_.data(), digits_.size());
    return putCharacters(to + size_, eightDigits(static_cast<std::uint32_t>(rest)) >> 16, 6);
  }

 private:
  /// Returns how many ns of its millisecond have passed at `inSecond`.
  std::uint64_t startMillisecond(std::uint64_t inSecond) {
    const auto below = static_cast<std::uint32_t>(inSecond);
    const std::uint32_t number = below / kMillisecond;
    const std::uint32_t start = number * kMillisecond;
    millisecond_ = second_ + start;
    length_ = std::min<std::uint64_t>(kMillisecond, secondLength_ - start);
    *putCharacters(digits_.data() + secondSize_, eightDigits(number) >> 40, 3) = '.';
    return below - start;
  }
  char* printAnew(char* to, Nanoseconds time);

  static constexpr std::uint32_t kMillisecond = kNsPerMs;

  std::uint64_t millisecond_ = 0;  // ns
  std::uint64_t length_ = 0;       // ns; 0 at first
  std::size_t size_ = 0;           // number of its digits and the point
  std::array<char, 24> digits_{};
  std::uint64_t second_ = 0;
  std::uint64_t secondLength_ = 0;
  std::size_t secondSize_ = 0;
};

}  // namespace pipetrace
