#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "trace/decimal_digits.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// printMilliseconds() for many times of about the same second, whose digits are kept.
/// Not thread-safe.
class MillisecondPrinter {
 public:
  static constexpr std::size_t kRoom = 32;

  /// The characters of printMilliseconds(to, time), into memory with kRoom. Returns the end.
  char* print(char* to, Nanoseconds time) {
    const std::uint64_t rest = static_cast<std::uint64_t>(time) - second_;
    if (rest >= length_) [[unlikely]]
      return printAnew(to, time);
    constexpr std::uint32_t kMillisecond = kNsPerMs;
    const auto below = static_cast<std::uint32_t>(rest);
    std::memcpy(to, digits_.data(), digits_.size());
    to = putCharacters(to + size_, eightDigits(below / kMillisecond) >> 40, 3);
    *to++ = '.';
    return putCharacters(to, eightDigits(below % kMillisecond) >> 16, 6);
  }

 private:
  char* printAnew(char* to, Nanoseconds time);

  std::uint64_t second_ = 0;  // ns
  std::uint64_t length_ = 0;  // 0: there is none yet
  std::array<char, 16> digits_{};
  std::size_t size_ = 0;
};

}  // namespace pipetrace
