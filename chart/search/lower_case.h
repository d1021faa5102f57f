#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace pipetrace {

constexpr char lowerCaseLetter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Returns the text with the letters A to Z in lower case. All other characters stay.
inline std::string lowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), lowerCaseLetter);
  return lower;
}

}  // namespace pipetrace
