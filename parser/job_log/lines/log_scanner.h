#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Takes a line of the job log apart from its start. Each function takes what it is named after and
/// returns true. It returns false where something else stands; then nothing more can be taken.
class LogScanner {
 public:
  explicit LogScanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  template <std::size_t size>
  bool literal(const char (&text)[size]) {
    constexpr std::size_t kLength = size - 1;
    if (left() < kLength || !isSame<kLength>(at_, text)) return false;
    at_ += kLength;
    return true;
  }

  /// Digits, at most 18 of them, so that they cannot overflow.
  bool number(std::int64_t& value) {
    const char* const from = at_;
    std::int64_t sum = 0;
    for (; at_ < end_ && isDigit(*at_); ++at_) {
      if (at_ - from == 18) return false;
      sum = sum * 10 + (*at_ - '0');
    }
    value = sum;
    return at_ > from;
  }

  /// Latin letters, digits and underscores.
  bool word(std::string_view& text) {
    const char* const from = at_;
    while (at_ < end_ && isOf(kWord, *at_)) ++at_;
    text = {from, static_cast<std::size_t>(at_ - from)};
    return at_ > from;
  }

  /// A value without quotes: the characters of a word, and `.+:/-`.
  bool bareValue(std::string_view& text) {
    const char* const from = at_;
    while (at_ < end_ && isOf(kBare, *at_)) ++at_;
    text = {from, static_cast<std::size_t>(at_ - from)};
    return at_ > from;
  }

  /// The rest of a quoted text, whose first quote has been taken, up to its last quote: printable
  /// ASCII without escapes, and not empty.
  bool quotedText(std::string_view& text) {
    const char* const from = at_;
    while (at_ < end_ && *at_ >= ' ' && *at_ <= '~' && *at_ != '"' && *at_ != '\\') ++at_;
    text = {from, static_cast<std::size_t>(at_ - from)};
    return at_ > from && literal("\"");
  }

  /// Milliseconds with six decimals.
  bool milliseconds(Nanoseconds& time) {
    std::uint64_t whole = 0;
    std::uint64_t decimals = 0;
    if (!wholeMilliseconds(whole) || left() < 7 || *at_ != '.') return false;
    if (!sixDigits(at_ + 1, decimals)) return false;
    at_ += 7;
    if (at_ < end_ && isDigit(*at_)) return false;
    const std::uint64_t ns = whole * 1'000'000 + decimals;  // < 10^19: fits without sign
    if (ns > static_cast<std::uint64_t>(kNsMax)) return false;
    time = static_cast<Nanoseconds>(ns);
    return true;
  }

  std::string_view rest() const { return {at_, left()}; }

 private:
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  /// Kinds of characters, a bit each.
  static constexpr std::uint8_t kWord = 1;
  static constexpr std::uint8_t kBare = 2;
  static constexpr std::array<std::uint8_t, 256> kKinds = [] {
    std::array<std::uint8_t, 256> kinds{};
    for (std::size_t c = 0; c < kinds.size(); ++c) {
      const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      const bool isWord = isLetter || (c >= '0' && c <= '9') || c == '_';
      const bool isBare = isWord || (c >= '+' && c <= '/' && c != ',') || c == ':';
      kinds[c] = static_cast<std::uint8_t>((isWord ? kWord : 0) | (isBare ? kBare : 0));
    }
    return kinds;
  }();
  static bool isOf(std::uint8_t kind, char c) {
    return (kKinds[static_cast<unsigned char>(c)] & kind) != 0;
  }

  template <typename Number>
  static Number load(const char* from) {
    Number bytes = 0;
    std::memcpy(&bytes, from, sizeof bytes);
    return bytes;
  }
  /// std::memcmp() of a length that the compiler knows, without a call.
  template <std::size_t kLength>
  static bool isSame(const char* a, const char* b) {
    if constexpr (kLength >= 8) {
      constexpr std::size_t kLast = kLength - 8;
      std::uint64_t differ = load<std::uint64_t>(a + kLast) ^ load<std::uint64_t>(b + kLast);
      for (std::size_t i = 0; i < kLast; i += 8) {
        differ |= load<std::uint64_t>(a + i) ^ load<std::uint64_t>(b + i);
      }
      return differ == 0;
    } else {
      return std::memcmp(a, b, kLength) == 0;
    }
  }

  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  /// At most 13 digits; those of the years from 2001 to 2286 eight at a time.
  bool wholeMilliseconds(std::uint64_t& value) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    if (left() > 13 && at_[13] == '.' && eightDigits(at_, high) && eightDigits(at_ + 5, low)) {
      value = high / 1000 * 100'000'000 + low;
      at_ += 13;
      return true;
    }
    std::int64_t few = 0;
    const char* const from = at_;
    if (!number(few) || at_ - from > 13) return false;
    value = static_cast<std::uint64_t>(few);
    return true;
  }

  static bool eightDigits(const char* from, std::uint64_t& value) {
    if constexpr (std::endian::native != std::endian::little) return false;
    return digits(load<std::uint64_t>(from), value);
  }
  /// Two characters must stand before the six digits, whatever they are.
  static bool sixDigits(const char* from, std::uint64_t& value) {
    if constexpr (std::endian::native == std::endian::little) {
      return digits((load<std::uint64_t>(from - 2) & ~std::uint64_t{0xffff}) | 0x3030, value);
    }
    value = 0;
    for (int i = 0; i < 6; ++i) {
      if (!isDigit(from[i])) return false;
      value = value * 10 + static_cast<std::uint64_t>(from[i] - '0');
    }
    return true;
  }
  /// The number that eight characters are, the first of them in the lowest byte.
  static bool digits(std::uint64_t bytes, std::uint64_t& value) {
    // A digit is 0x30 .. 0x39: its upper half is 3, and stays 3 when 6 is added.
    constexpr std::uint64_t kUpper = 0xf0f0f0f0f0f0f0f0;
    constexpr std::uint64_t kThrees = 0x3030303030303030;
    if ((bytes & kUpper) != kThrees || ((bytes + 0x0606060606060606) & kUpper) != kThrees) {
      return false;
    }
    // Neighbours are put together: digits to pairs, pairs to fours, fours to the whole.
    bytes = (bytes & 0x0f0f0f0f0f0f0f0f) * 2561 >> 8;
    bytes = (bytes & 0x00ff00ff00ff00ff) * 6553601 >> 16;
    value = (bytes & 0x0000ffff0000ffff) * 42949672960001 >> 32;
    return true;
  }

  const char* at_;
  const char* end_;
};

}  // namespace pipetrace
