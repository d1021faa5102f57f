#include "trace/text/utf8.h"

#include <algorithm>

namespace pipetrace {

std::size_t utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Some first bytes leave less room for the second: else the form would be overlong, a surrogate
  // or past the last code point.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

bool isUtf8(std::string_view text) {
  const auto isAscii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  auto rest = std::find_if_not(text.begin(), text.end(), isAscii);
  text.remove_prefix(static_cast<std::size_t>(rest - text.begin()));
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string toUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

char32_t takeCharacter(std::string_view& text) {
  const std::size_t length = utf8Length(text);
  char32_t character = kReplacementCharacter;
  if (length > 0) {
    // The leading ones of a first byte are as many as the character has bytes.
    const auto first = static_cast<unsigned char>(text.front());
    character = length == 1 ? first : first & (0x7fU >> length);
    for (const char c : text.substr(1, length - 1)) {
      character = character << 6 | (static_cast<unsigned char>(c) & 0x3fU);
    }
  }
  text.remove_prefix(std::max<std::size_t>(length, 1));
  return character;
}

void appendUtf8(std::string& out, char32_t c) {
  const auto add = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
    out += kReplacement;
  } else if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xc0 | c >> 6);
    add(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    add(0xe0 | c >> 12);
    add(0x80 | (c >> 6 & 0x3f));
    add(0x80 | (c & 0x3f));
  } else {
    add(0xf0 | c >> 18);
    add(0x80 | (c >> 12 & 0x3f));
    add(0x80 | (c >> 6 & 0x3f));
    add(0x80 | (c & 0x3f));
  }
}

}  // namespace pipetrace
