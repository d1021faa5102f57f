#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

/// Protobuf fields written by hand into a buffer that has room: what is done for every event.
/// Each returns the end of what it wrote.
namespace pipetrace::perfetto_wire {

inline constexpr std::size_t kLongestVarint = 10;

inline char* putVarint(char* to, std::uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

inline std::size_t varintSize(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

/// Field numbers are constants, so the compiler folds the tag.
inline char* putTag(char* to, std::uint32_t field, std::uint32_t wireType) {
  return putVarint(to, (std::uint64_t{field} << 3) | wireType);
}

inline char* putVarintField(char* to, std::uint32_t field, std::uint64_t value) {
  return putVarint(putTag(to, field, 0), value);
}

inline char* putFixed64(char* to, std::uint64_t value) {
  static_assert(std::endian::native == std::endian::little, "protobuf is little-endian");
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

inline char* putFixed64Field(char* to, std::uint32_t field, std::uint64_t value) {
  return putFixed64(putTag(to, field, 1), value);
}

}  // namespace pipetrace::perfetto_wire
