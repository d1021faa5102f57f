#include "trace/text/fit_to_print.h"

#include <algorithm>

#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

bool isOrdinaryAscii(char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; }

bool isFitCharacter(char32_t c) {
  if (c < 0x20) return c == '\n' || c == '\t';
  const bool isControl = c >= 0x7f && c <= 0x9f;
  // Unicode's Bidi_Control, and U+2028 and U+2029.
  const bool isDirection = c == 0x061c || c == 0x200e || c == 0x200f ||
                           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return !isControl && !isDirection;
}

}  // namespace

std::string fitToPrint(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto odd = std::find_if_not(text.begin(), text.end(), isOrdinaryAscii);
    const auto plain = static_cast<std::size_t>(odd - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::string_view rest = text;
    const bool isText = utf8Length(text) > 0;
    const char32_t character = takeCharacter(text);
    if (isText && isFitCharacter(character)) {
      out += rest.substr(0, rest.size() - text.size());
    } else {
      out += '?';
    }
  }
  return out;
}

std::string fitLine(std::string_view text) { return fitInLine(text) + "\n"; }

std::string fitInLine(std::string_view text) {
  std::string fit = fitToPrint(text);
  std::replace_if(
      fit.begin(), fit.end(), [](char c) { return c == '\n' || c == '\t'; }, '?');
  return fit;
}

}  // namespace pipetrace
