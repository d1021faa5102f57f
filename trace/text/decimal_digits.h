#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace pipetrace {

/// The eight decimal digits of `value` (below 10^8), leading zeros and all, as the integer whose
/// lowest byte is the first character. All digits are made at once, without a table that would have
/// to be fetched and without a branch that depends on the number.
constexpr std::uint64_t eightDigits(std::uint32_t value) {
  // Parts of four digits have 32 bits each, parts of two 16, single digits 8.
  // Divisions are multiplications with the reciprocal, exact for numbers of that size.
  const std::uint64_t fours = value / 10'000 | std::uint64_t{value % 10'000} << 32;
  const std::uint64_t hundreds = fours * 10'486 >> 20 & 0x0000007F'0000007Fu;
  const std::uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
  const std::uint64_t tens = twos * 103 >> 10 & 0x000F000F'000F000Fu;
  const std::uint64_t ones = tens | (twos - 10 * tens) << 8;
  return ones | 0x30303030'30303030u;
}

/// Writes all eight bytes of `characters` to `to`, which has room for them. Returns the end of the
/// lowest `count` bytes, which are the ones that count.
inline char* putCharacters(char* to, std::uint64_t characters, int count) {
  if constexpr (std::endian::native == std::endian::big) characters = __builtin_bswap64(characters);
  std::memcpy(to, &characters, sizeof(characters));
  return to + count;
}

/// The characters of a number, the first in the lowest byte.
struct ShortNumber {
  std::uint64_t characters = 0;
  int count = 0;
};

/// The digits of `value`, which is below 10^8.
constexpr ShortNumber shortNumber(std::uint32_t value) {
  if (value < 10) return {.characters = '0' + value, .count = 1};
  const std::uint64_t digits = eightDigits(value);
  const int zeros = std::countr_zero(digits & 0x0F0F0F0F'0F0F0F0Fu) / 8;
  return {.characters = digits >> 8 * zeros, .count = 8 - zeros};
}
constexpr bool isShortNumber(std::int64_t value) {
  return static_cast<std::uint64_t>(value) < 100'000'000;
}

/// Prints `value` into memory with room for 24 characters. Returns the end.
inline char* printNumber(char* to, std::int64_t value) {
  if (!isShortNumber(value)) return std::to_chars(to, to + 24, value).ptr;
  const ShortNumber number = shortNumber(static_cast<std::uint32_t>(value));
  return putCharacters(to, number.characters, number.count);
}

/// Prints numbers that often are one more than the last one.
class CountingNumber {
 public:
  /// Prints what printNumber(to, value) prints.
  char* print(char* to, std::int64_t value) {
    const bool isNext = value == value_ + 1 && --untilCarry_ >= 0;
    value_ = value;
    if (isNext) {
      number_.characters += std::uint64_t{1} << 8 * (number_.count - 1);
    } else {
      untilCarry_ = 0;
      if (!isShortNumber(value)) return printNumber(to, value);
      number_ = shortNumber(static_cast<std::uint32_t>(value));
      untilCarry_ = static_cast<int>(9 - value % 10);
    }
    return putCharacters(to, number_.characters, number_.count);
  }

 private:
  std::int64_t value_ = 0;
  int untilCarry_ = 0;  // how often 1 can be added to the last digit
  ShortNumber number_;
};

}  // namespace pipetrace
