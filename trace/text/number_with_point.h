#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace pipetrace {

/// The text of a JSON number as the file has it. nlohmann/json 3.11 gives readers the decimal point
/// of the process's locale in its place: a comma in German.
inline std::string numberWithPoint(std::string digits) {
  constexpr std::string_view kOthers = "0123456789+-eE";
  std::replace_if(
      digits.begin(), digits.end(),
      [&](char c) { return kOthers.find(c) == std::string_view::npos; }, '.');
  return digits;
}

}  // namespace pipetrace
