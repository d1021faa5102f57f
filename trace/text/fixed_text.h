#pragma once

#include <array>
#include <charconv>
#include <string>

namespace pipetrace {

/// A number with that many decimals (at most 20), and a point in every locale, which printf() does
/// not promise: a program with windows runs in its user's locale.
inline std::string fixedText(double value, int decimals) {
  std::array<char, 352> text{};  // the largest double has 309 digits
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::fixed, decimals);
  return {text.data(), end};
}

}  // namespace pipetrace
