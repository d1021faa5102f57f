#include "parser/job_log/lines/log_argument.h"

#include <array>
#include <charconv>

#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

template <typename Number>
bool printsAs(Number value, std::string_view text) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string_view(buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data())) ==
         text;
}

bool looksLikeNumber(std::string_view text) {
  return text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
}

}  // namespace

Argument argumentFromLog(const LogFields::Field& field, StringTable& strings) {
  const StringId key = strings.intern(field.key);
  if (!field.quoted && looksLikeNumber(field.value)) {
    if (const auto integer = parseNumber<std::int64_t>(field.value);
        integer && printsAs(*integer, field.value)) {
      return Argument::ofInteger(key, *integer);
    }
    if (const auto real = parseNumber<double>(field.value); real && printsAs(*real, field.value)) {
      return Argument::ofReal(key, *real);
    }
  }
  return Argument::ofText(key, strings.intern(field.value));
}

}  // namespace pipetrace
