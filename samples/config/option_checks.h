#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>

namespace pipetrace {

/// Refuses what is no number from `least` to `most`: "3.5 is no whole number". In the help as
/// CLI::Range.
template <typename Number>
CLI::Validator numberFrom(Number least, Number most) {
  const CLI::Range range(least, most);
  CLI::Validator check = range;
  return CLI::Validator(
      [range](std::string& text) {
        Number value{};
        const bool isNumber = CLI::detail::lexical_cast(text, value);
        if (isNumber) return range(text);
        return text + (std::is_integral_v<Number> ? " is no whole number" : " is no number");
      },
      check.get_description());
}

}  // namespace pipetrace
