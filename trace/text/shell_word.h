#pragma once

#include <string>
#include <string_view>

#include "trace/text/fit_to_print.h"

namespace pipetrace {

/// A text as one word of a shell's command, quoted where the shell would read it otherwise.
inline std::string shellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// The same for commands that people copy from a terminal: characters that fitInLine() would
/// replace are escapes in `$'…'`, which bash, zsh and ksh read.
inline std::string printedShellWord(std::string_view text) {
  if (fitInLine(text) == text) return shellWord(text);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string word = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      word += {'\\', c};
    } else if (byte >= ' ' && byte < 0x7f) {
      word += c;
    } else {
      word += {'\\', 'x', kDigits[byte / 16U], kDigits[byte % 16U]};
    }
  }
  return word + "'";
}

}  // namespace pipetrace
