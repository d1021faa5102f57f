#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipetrace {

/// A number with that many decimals (at most 20), and a point in every locale, which printf() does
/// not promise: a program with windows runs in its user's locale.
inline std::string fixedText(double value, int decimals) {
  std::array<char, 352> text{};  // the largest double has 309 digits
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::fixed, decimals);
  return {text.data(), end};
}

/// Bytes for people to read, such as "1.25 GB"; a GB is 10^9 bytes.
inline std::string bytesText(std::int64_t bytes) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  for (const Unit& unit : kUnits) {
    if (static_cast<double>(bytes) < unit.size) continue;
    return fixedText(static_cast<double>(bytes) / unit.size, 2) + " " + unit.name;
  }
  return std::to_string(bytes) + " B";
}

/// "1 rank", "3 ranks": a count with what follows it. `many`: where that is not `one` with an s.
std::string countText(std::integral auto count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text += one;
  return many.empty() ? (text += one) += "s" : text += many;
}

/// A factor for people to read, with two decimals: "1.30".
inline std::string factorText(double factor) { return fixedText(factor, 2); }

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
