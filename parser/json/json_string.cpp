#include "parser/json/json_string.h"

#include <algorithm>
#include <charconv>

#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

void appendEscape(std::string& out, char c, bool isLast) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '"': out += "\\\""; break;
    case '\\': out += isLast ? "\\u005c" : "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default:
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xf];
  }
}

/// The four hexadecimal digits after "\u", or a negative number.
int hexUnit(std::string_view text) {
  int value = 0;
  if (text.size() < 4) return -1;
  const auto result = std::from_chars(text.data(), text.data() + 4, value, 16);
  return result.ptr == text.data() + 4 && text[0] != '-' ? value : -1;
}

/// Appends the character of the "\uXXXX" whose digits begin `body`, and removes what it used.
bool appendUnit(std::string& out, std::string_view& body) {
  const int unit = hexUnit(body);
  if (unit < 0) return false;
  body.remove_prefix(4);
  auto codePoint = static_cast<char32_t>(unit);
  const bool isHigh = unit >= 0xd800 && unit < 0xdc00;
  if (isHigh && body.substr(0, 2) == "\\u") {
    const int low = hexUnit(body.substr(2));
    if (low >= 0xdc00 && low < 0xe000) {
      codePoint = 0x10000 + ((codePoint - 0xd800) << 10) + static_cast<char32_t>(low - 0xdc00);
      body.remove_prefix(6);
    }
  }
  appendUtf8(out, codePoint);
  return true;
}

}  // namespace

void appendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto plainEnd = std::find_if_not(text.begin(), text.end(), isPlainInJson);
    const auto plain = static_cast<std::size_t>(plainEnd - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    std::size_t used = 1;
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      appendEscape(out, text.front(), text.size() == 1);
    } else if (const std::size_t length = utf8Length(text); length == 0) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
      used = length;
    }
    text.remove_prefix(used);
  }
  out += '"';
}

void appendJsonForViewers(std::string& out, std::string_view json) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '\x7f') {
      out += "\\u007f";
    } else if (json[i] != '\\') {
      out += json[i];
    } else {
      const bool isLastBackslash = json.substr(i, 3) == "\\\\\"";
      out += isLastBackslash ? "\\u005c" : json.substr(i, 2);
      ++i;
    }
  }
}

bool appendFromJsonString(std::string& out, std::string_view body) {
  while (!body.empty()) {
    const std::size_t plain = std::min(body.find('\\'), body.size());
    if (body.substr(0, plain).find('"') != std::string_view::npos) return false;
    out += body.substr(0, plain);
    body.remove_prefix(plain);
    if (body.empty()) break;
    if (body.size() < 2) return false;
    const char escape = body[1];
    body.remove_prefix(2);
    switch (escape) {
      case '"':
      case '\\':
      case '/': out += escape; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u':
        if (!appendUnit(out, body)) return false;
        break;
      default: return false;
    }
  }
  return true;
}

}  // namespace pipetrace
