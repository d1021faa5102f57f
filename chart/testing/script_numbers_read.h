#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "chart/script/script_numbers.h"

namespace pipetrace::test {

/// The numbers of a text that ScriptNumbers wrote, without its quotes.
inline std::vector<std::int64_t> numbersIn(std::string_view text) {
  const std::string_view digits = kScriptDigits;
  std::vector<std::int64_t> numbers;
  std::int64_t value = 0;
  std::int64_t unit = 1;
  for (const char c : text) {
    const auto digit = static_cast<std::int64_t>(digits.find(c));
    value += digit % 45 * unit;
    unit *= 45;
    if (digit >= 45) continue;
    numbers.push_back(value % 2 == 0 ? value / 2 : -(value + 1) / 2);
    value = 0;
    unit = 1;
  }
  return numbers;
}

}  // namespace pipetrace::test
