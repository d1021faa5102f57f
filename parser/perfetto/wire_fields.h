#pragma once

#include <cstdint>
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
/// that a field is of the type it is asked for, which is nothing to do with input.
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
