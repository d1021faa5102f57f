#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace pipetrace {

/// One field of a protobuf message, whatever its type.
struct WireField {
  std::uint32_t number = 0;
  bool isBytes = false;
  bool isFixed = false;     ///< 4 or 8 bytes, not a varint
  std::uint64_t value = 0;  ///< of a number
  std::string_view bytes;   ///< of a text or message

  bool isVarint(std::uint32_t field) const { return number == field && !isBytes && !isFixed; }
  bool isFixed64(std::uint32_t field) const { return number == field && isFixed; }
  bool isBytesOf(std::uint32_t field) const { return number == field && isBytes; }
  /// A varint as the signed number that it is on the wire.
  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
};

/// The fields of one message in order. Every field can be of any type: protozero itself asserts
/// that a field has the type that it is read as, which does not suit input.
class WireFields {
 public:
  explicit WireFields(std::string_view message) : reader_(message.data(), message.size()) {}

  /// False at the end. Throws protozero::exception where the bytes are no message.
  bool next(WireField& field) {
    if (!reader_.next()) return false;
    field = WireField{.number = reader_.tag()};
    switch (reader_.wire_type()) {
      case protozero::pbf_wire_type::varint: field.value = reader_.get_uint64(); break;
      case protozero::pbf_wire_type::fixed64:
        field.value = reader_.get_fixed64();
        field.isFixed = true;
        break;
      case protozero::pbf_wire_type::length_delimited: {
        const auto view = reader_.get_view();
        field.bytes = {view.data(), view.size()};
        field.isBytes = true;
        break;
      }
      case protozero::pbf_wire_type::fixed32:
        field.value = reader_.get_fixed32();
        field.isFixed = true;
        break;
      default: throw protozero::unknown_pbf_wire_type_exception{};
    }
    return true;
  }

 private:
  protozero::pbf_reader reader_;
};

}  // namespace pipetrace

/// Writes protobuf fields by hand into a buffer that has room; this is done for every event. Each
/// function returns the end of what it wrote.
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
