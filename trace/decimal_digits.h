#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace pipetrace {

/// The eight decimal digits of `value` (below 10^8), leading zeros and all, as the integer whose
/// lowest byte is the first character. All digits at once, four, two and one a part: no table that
/// would have to be fetched, and no branch that depends on the number.
constexpr std::uint64_t eightDigits(std::uint32_t value) {
  // In 32 bits each: thousands and units of four digits; in 16 bits: of two; in 8: of one.
  // Divisions are multiplications with the reciprocal, exact for numbers of that size.
  const std::uint64_t fours = value / 10'000 | std::uint64_t{value % 10'000} << 32;
  const std::uint64_t hundreds = fours * 10'486 >> 20 & 0x0000007F'0000007Fu;
  const std::uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
  const std::uint64_t tens = twos * 103 >> 10 & 0x000F000F'000F000Fu;
  const std::uint64_t ones = tens | (twos - 10 * tens) << 8;
  return ones | 0x30303030'30303030u;
}

/// Puts the lowest `count` bytes, and then others, of `characters` to `to`, which has room for
/// eight. Returns the end of the first `count`.
inline char* putCharacters(char* to, std::uint64_t characters, int count) {
  if constexpr (std::endian::native == std::endian::big) characters = __builtin_bswap64(characters);
  std::memcpy(to, &characters, sizeof(characters));
  return to + count;
}

/// Prints `value` into memory with room for 24 characters. Returns the end.
inline char* printNumber(char* to, std::int64_t value) {
  if (static_cast<std::uint64_t>(value) < 10) {
    *to = static_cast<char>('0' + value);
    return to + 1;
  }
  if (static_cast<std::uint64_t>(value) >= 100'000'000)
    return std::to_chars(to, to + 24, value).ptr;
  const std::uint64_t digits = eightDigits(static_cast<std::uint32_t>(value));
  const int zeros = std::countr_zero(digits & 0x0F0F0F0F'0F0F0F0Fu) / 8;
  return putCharacters(to, digits >> 8 * zeros, 8 - zeros);
}

}  // namespace pipetrace
