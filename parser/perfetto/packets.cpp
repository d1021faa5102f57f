#include "parser/perfetto/packets.h"

#include <algorithm>

#include "parser/perfetto/format.h"

namespace pipetrace {
namespace {

constexpr std::size_t kReadSize = std::size_t{1} << 20;
constexpr std::uint32_t kLengthDelimited = 2;

}  // namespace

/// Whether `size` bytes stand at at_. Reads on in steps, so that a length that only claims to be
/// large costs no memory.
bool PerfettoPackets::fill(std::size_t size) {
  if (window_.size() - at_ >= size) return true;
  window_.erase(0, at_);
  at_ = 0;
  while (window_.size() < size) {
    const std::size_t before = window_.size();
    window_.resize(before + kReadSize);
    const std::size_t got = source_.read(window_.data() + before, kReadSize);
    window_.resize(before + got);
    if (got == 0) return false;
  }
  return true;
}

bool PerfettoPackets::readVarint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (!fill(1)) {
      cutOff_ = true;
      return false;
    }
    const auto byte = static_cast<unsigned char>(window_[at_++]);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  broken_ = true;
  return false;
}

bool PerfettoPackets::take(std::uint64_t size, std::string_view& bytes) {
  if (!fill(size)) {
    cutOff_ = true;
    return false;
  }
  bytes = std::string_view(window_).substr(at_, size);
  at_ += size;
  return true;
}

bool PerfettoPackets::skip(std::uint32_t wireType) {
  std::uint64_t value = 0;
  std::string_view ignored;
  switch (wireType) {
    case 0: return readVarint(value);
    case 1: return take(8, ignored);
    case kLengthDelimited: return readVarint(value) && take(value, ignored);
    case 5: return take(4, ignored);
    default: broken_ = true; return false;
  }
}

bool PerfettoPackets::next(std::string_view& packet) {
  while (!cutOff_ && !broken_ && fill(1)) {
    std::uint64_t tag = 0;
    if (!readVarint(tag)) return false;
    const auto wireType = static_cast<std::uint32_t>(tag & 7);
    if (tag >> 3 == 0) {
      broken_ = true;
    } else if (tag >> 3 == perfetto_format::kPacket && wireType == kLengthDelimited) {
      std::uint64_t size = 0;
      return readVarint(size) && take(size, packet);
    } else {
      unknownFields_ += skip(wireType) ? 1 : 0;
    }
  }
  return false;
}

}  // namespace pipetrace
