#include "trace/text/decimal_time.h"

#include <array>
#include <charconv>
#include <cstring>

#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// value = value * 10 + digit, false on overflow.
bool pushDigit(std::uint64_t& value, char digit) {
  return !__builtin_mul_overflow(value, std::uint64_t{10}, &value) &&
         !__builtin_add_overflow(value, static_cast<std::uint64_t>(digit - '0'), &value);
}

constexpr std::array<char, 200> kPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

char* printPair(char* to, std::uint32_t value) {
  std::memcpy(to, kPairs.data() + 2 * static_cast<std::size_t>(value), 2);
  return to + 2;
}

/// Prints eight digits, leading zeros included, by 32-bit divisions, two digits at a time. Times
/// are most of a log, so speed matters.
char* printEight(char* to, std::uint32_t value) {
  const std::uint32_t high = value / 10'000;
  const std::uint32_t low = value % 10'000;
  to = printPair(printPair(to, high / 100), high % 100);
  return printPair(printPair(to, low / 100), low % 100);
}

char* printWhole(char* to, std::uint64_t value) {
  constexpr std::uint64_t kEightDigits = 100'000'000;
  if (value < kEightDigits) return std::to_chars(to, to + 20, value).ptr;
  to = std::to_chars(to, to + 20, value / kEightDigits).ptr;
  return printEight(to, static_cast<std::uint32_t>(value % kEightDigits));
}

}  // namespace

std::optional<Nanoseconds> parseDecimalTime(std::string_view text, Nanoseconds unit) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  std::size_t i = 0;
  std::uint64_t whole = 0;
  for (; i < text.size() && isDigit(text[i]); ++i) {
    if (!pushDigit(whole, text[i])) return std::nullopt;
  }
  if (i == 0) return std::nullopt;

  std::uint64_t ns = 0;
  if (__builtin_mul_overflow(whole, static_cast<std::uint64_t>(unit), &ns)) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != '.' || i + 1 == text.size()) return std::nullopt;
    auto weight = static_cast<std::uint64_t>(unit);
    for (++i; i < text.size(); ++i) {
      if (!isDigit(text[i])) return std::nullopt;
      weight /= 10;
      if (__builtin_add_overflow(ns, weight * static_cast<std::uint64_t>(text[i] - '0'), &ns)) {
        return std::nullopt;
      }
    }
  }
  const std::uint64_t limit = static_cast<std::uint64_t>(kNsMax) + (negative ? 1 : 0);
  if (ns > limit) return std::nullopt;
  return static_cast<Nanoseconds>(negative ? 0 - ns : ns);
}

char* printMilliseconds(char* to, Nanoseconds time) {
  auto magnitude = static_cast<std::uint64_t>(time);
  if (time < 0) {
    *to++ = '-';
    magnitude = 0 - magnitude;
  }
  to = printWhole(to, magnitude / kNsPerMs);
  *to++ = '.';
  const auto rest = static_cast<std::uint32_t>(magnitude % kNsPerMs);
  return printPair(printPair(printPair(to, rest / 10'000), rest / 100 % 100), rest % 100);
}

void appendMilliseconds(std::string& out, Nanoseconds time) {
  std::array<char, 32> text{};
  out.append(text.data(), printMilliseconds(text.data(), time));
}

namespace {

/// `decimals`: how many a number of that size has. `least`: where numbers of a unit begin, as a
/// smaller one is printed in the next unit.
template <typename Decimals>
std::string durationText(Nanoseconds duration, double least, Decimals decimalsOf) {
  struct Unit {
    double ns;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  const double value = static_cast<double>(duration);
  const double magnitude = value < 0 ? -value : value;
  for (const Unit& unit : kUnits) {
    if (magnitude < unit.ns * least) continue;
    const double scaled = value / unit.ns;
    const int decimals = decimalsOf(magnitude / unit.ns);
    return fixedText(scaled, decimals) + " " + unit.name;
  }
  return std::to_string(duration) + " ns";
}

}  // namespace

std::string formatDuration(Nanoseconds duration) {
  // 999.95 of the next smaller unit already prints as 1.000 of this one.
  return durationText(duration, 0.99995, [](double size) {
    return size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0;
  });
}

std::string shortDuration(Nanoseconds duration) {
  return durationText(duration, 0.9995, [](double size) { return size < 9.95 ? 1 : 0; });
}

std::string percentText(Nanoseconds part, Nanoseconds whole) {
  const double share = whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  return fixedText(100 * share, 1) + " %";
}

}  // namespace pipetrace
