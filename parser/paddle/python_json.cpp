#include "parser/paddle/python_json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace pipetrace {
namespace {

/// Decimal exponents at which Python's repr() changes to the scientific form.
constexpr int kLowestFixed = -4;
constexpr int kHighestFixed = 16;

void appendUtf16(std::string& out, std::uint32_t unit) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 0xf];
}

/// The code point at `at`, which then moves to the next one.
std::uint32_t codePoint(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  std::uint32_t point = first & (0x3fU >> more);
  for (int i = 0; i < more && at < text.size(); ++i) {
    point = (point << 6) | (static_cast<unsigned char>(text[at++]) & 0x3fU);
  }
  return point;
}

}  // namespace

void appendPythonFloat(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  std::array<char, 400> text{};
  char* const begin = text.data();
  char* const limit = begin + text.size();
  auto end = std::to_chars(begin, limit, value, std::chars_format::scientific).ptr;
  const std::string_view scientific(begin, static_cast<std::size_t>(end - begin));
  const char* from = begin + scientific.find('e') + 1;
  if (*from == '+') ++from;
  int exponent = 0;
  std::from_chars(from, end, exponent);
  if (exponent < kLowestFixed || exponent >= kHighestFixed) {
    out.append(begin, end);
    return;
  }
  end = std::to_chars(begin, limit, value, std::chars_format::fixed).ptr;
  const std::string_view fixed(begin, static_cast<std::size_t>(end - begin));
  out += fixed;
  if (fixed.find('.') == std::string_view::npos) out += ".0";
}

void appendPythonString(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t point = codePoint(text, at);
    if (point == '"' || point == '\\') {
      out += '\\';
      out += static_cast<char>(point);
    } else if (point >= 0x20 && point < 0x7f) {
      out += static_cast<char>(point);
    } else if (point == '\n') {
      out += "\\n";
    } else if (point == '\t') {
      out += "\\t";
    } else if (point == '\r') {
      out += "\\r";
    } else if (point < 0x10000) {
      appendUtf16(out, point);
    } else {
      appendUtf16(out, 0xd800 + ((point - 0x10000) >> 10));
      appendUtf16(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
    }
  }
  out += '"';
}

}  // namespace pipetrace
