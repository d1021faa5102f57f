#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parser/byte_source.h"

namespace pipetrace {

/// Cuts a Perfetto trace into its packets. It holds no more of the trace than the largest packet.
class PerfettoPackets {
 public:
  explicit PerfettoPackets(ByteSource& source) : source_(source) {}

  /// The next packet; the view holds until the next call. False at the end.
  bool next(std::string_view& packet);

  /// Whether the input ends in the middle of a packet.
  bool cutOff() const { return cutOff_; }
  /// Whether next() stopped at a place from which on the input is no Perfetto trace.
  bool broken() const { return broken_; }
  /// The number of fields beside the packets, which mean nothing here.
  std::int64_t unknownFields() const { return unknownFields_; }

 private:
  bool fill(std::size_t size);
  bool readVarint(std::uint64_t& value);
  bool take(std::uint64_t size, std::string_view& bytes);
  bool skip(std::uint32_t wireType);

  ByteSource& source_;
  std::string window_;
  std::size_t at_ = 0;
  bool cutOff_ = false;
  bool broken_ = false;
  std::int64_t unknownFields_ = 0;
};

}  // namespace pipetrace
