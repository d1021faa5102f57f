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

/// `text` without spaces at its ends.
inline std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace pipetrace
