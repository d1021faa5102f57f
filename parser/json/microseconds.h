#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "trace/nanoseconds.h"
#include "trace/text/decimal_time.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {

/// "1.2345e3" as "1234.5": the dot moved, zeros filled in.
inline std::string withoutExponent(std::string_view mantissa, int exponent) {
  const bool negative = mantissa.starts_with('-');
  if (negative) mantissa.remove_prefix(1);
  const std::size_t dot = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, dot));
  if (dot < mantissa.size()) digits += mantissa.substr(dot + 1);
  const auto place = static_cast<std::ptrdiff_t>(dot) + exponent;
  const auto size = static_cast<std::ptrdiff_t>(digits.size());
  std::string text = negative ? "-" : "";
  if (place <= 0) {
    text += "0." + std::string(static_cast<std::size_t>(-place), '0') + digits;
  } else if (place >= size) {
    text += digits + std::string(static_cast<std::size_t>(place - size), '0');
  } else {
    text += digits.substr(0, static_cast<std::size_t>(place)) + "." +
            digits.substr(static_cast<std::size_t>(place));
  }
  return text;
}

/// Reads a JSON number of microseconds as nanoseconds, digit by digit. Exponents are allowed, and
/// fractions of a nanosecond are cut off. Nothing for a text that is no number or does not fit.
inline std::optional<Nanoseconds> parseMicroseconds(std::string_view text) {
  const std::size_t mark = text.find_first_of("eE");
  if (mark == std::string_view::npos) return parseDecimalTime(text, kNsPerUs);
  std::string_view power = text.substr(mark + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  const auto exponent = parseNumber<int>(power);
  constexpr int kFarthest = 40;  // farther than any int64 of nanoseconds reaches
  if (!exponent || mark == 0) return std::nullopt;
  const std::string_view mantissa = text.substr(0, mark);
  if (mantissa.find_first_not_of("-0.") == std::string_view::npos) return 0;
  if (*exponent > kFarthest) return std::nullopt;
  // Each further place below zero only adds another zero in front.
  return parseDecimalTime(withoutExponent(mantissa, std::max(*exponent, -4 * kFarthest)), kNsPerUs);
}

}  // namespace pipetrace
