#pragma once

#include <cstdint>

#include "runtime/lanes/message_key.h"

namespace pipetrace {

/// The parts of a message, which travel on their own. The header may have the body behind it.
enum class GlooPart { kHeader, kBody, kLongBody };

/// No message has it: their tags have another part. For GlooGroup::barrier().
inline constexpr int kBarrierTag = 3;
/// Nor has any message this. For the end of a connection.
inline constexpr int kEndTag = 7;

/// How a message gets its tag, of 31 bits. Stage, tensor and number wrap round: messages of equal
/// tags between two ranks arrive in their order, and the header says which one came.
///
/// Programs (LaneName::program) that ranks run in turn may have equal tags, too. Acknowledgements
/// may still be on their way then: those of 256 programs in a row have different tags.
struct GlooTags {
  int stageBits = 10;
  int tensorBits = 8;
  int numberBits = 9;
  int program = 0;  ///< LaneName::program

  /// From how many messages on a lane has equal tags.
  std::uint64_t numbers() const { return std::uint64_t{1} << numberBits; }

  /// `number`: the messages of the lane before it.
  int tag(const MessageKey& key, std::uint64_t number, GlooPart part) const {
    const auto low = [](std::uint64_t value, int bits) {
      return value & ((std::uint64_t{1} << bits) - 1);
    };
    std::uint64_t tag = low(static_cast<std::uint64_t>(key.stage), stageBits);
    // Odd, so that multiples of it are different in the low bits.
    constexpr int kBetweenPrograms = 37;
    const MessageKindRow& row = rowOf(key.kind);
    const int tensor = row.tagNumber + key.tensor + program * kBetweenPrograms;
    tag = tag << tensorBits | low(static_cast<std::uint64_t>(tensor), tensorBits);
    tag = tag << numberBits | low(number, numberBits);
    tag = tag << 2 | static_cast<std::uint64_t>(row.tagGroup);
    return static_cast<int>(tag << 2 | static_cast<std::uint64_t>(part));
  }
};

}  // namespace pipetrace
