#include "parser/chrome/arrow_fields.h"

#include <charconv>

namespace pipetrace {
namespace {

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc{} || at != end) return std::nullopt;
  return value;
}

/// Decimals are cut off.
std::optional<std::uint64_t> decimal(std::string_view digits) {
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, value).ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

void ChromeArrowFields::takeNumber(std::string_view key, std::string_view digits) {
  if (key == "id") id = decimal(digits);
  if (key == "bind_id") bindId = decimal(digits);
}

void ChromeArrowFields::takeText(std::string_view key, std::string_view text) {
  if (key == "id") id = hexadecimal(text);
  if (key == "bind_id") bindId = hexadecimal(text);
  if (key == "bp") bindsEnclosing = text == "e";
  if (key == "s") isOfThread = text == "t";
}

void ChromeArrowFields::takeWord(std::string_view key, std::string_view word) {
  if (key == "flow_in") flowIn = word == "true";
  if (key == "flow_out") flowOut = word == "true";
}

}  // namespace pipetrace
