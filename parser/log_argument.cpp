#include "parser/log_argument.h"

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

Argument argumentFromLog(std::string_view key, std::string_view value, bool quoted,
                         StringTable& strings) {
  return argumentFromLog(strings.intern(key), value, quoted, strings);
}

Argument argumentFromLog(StringId key, std::string_view value, bool quoted, StringTable& strings) {
  if (!quoted && looksLikeNumber(value)) {
    if (const auto integer = parseNumber<std::int64_t>(value);
        integer && printsAs(*integer, value)) {
      return Argument::ofInteger(key, *integer);
    }
    if (const auto real = parseNumber<double>(value); real && printsAs(*real, value)) {
      return Argument::ofReal(key, *real);
    }
  }
  return Argument::ofText(key, strings.intern(value));
}

}  // namespace pipetrace
