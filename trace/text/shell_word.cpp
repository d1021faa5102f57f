#include "trace/text/shell_word.h"

#include "trace/text/fit_to_print.h"

namespace pipetrace {

std::string shellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string printedShellWord(std::string_view text) {
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
