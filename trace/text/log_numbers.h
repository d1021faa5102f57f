#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace pipetrace {

/// All of `text` as a number of that type; nothing if it holds anything else (a blank, a '+', other
/// characters), is out of range, or is "inf" or "nan".
template <typename Number>
std::optional<Number> parseNumber(std::string_view text) {
  Number value{};
  if (text.empty()) return std::nullopt;
  const char last = text.back();
  if constexpr (!std::numeric_limits<Number>::is_integer) {
    if (!(last >= '0' && last <= '9') && last != '.') return std::nullopt;
  }
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

/// The sum of two counts from files, which may hold any number. A sum that is too large becomes the
/// largest number. Not for numbers below 0.
constexpr std::int64_t addCounts(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

}  // namespace pipetrace
