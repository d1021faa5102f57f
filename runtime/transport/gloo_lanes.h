#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "runtime/device/rank_device.h"
#include "runtime/lanes/lane.h"
#include "runtime/lanes/message_key.h"
#include "runtime/transport/gloo_group.h"
#include "runtime/transport/message.h"

namespace pipetrace {

/// How long the buffers are for a lane's messages, whose receives are posted before anything has
/// come. Both ends reckon it alike, from the messages before, so they need not tell each other.
///
/// A message's room is the length of the longest one to its stage in all steps before. In the first
/// step it is the length of the first one. So it does not depend on how many receives of a step are
/// posted ahead.
///
/// From the second step of a stage on, header and bytes travel in one buffer, into which the sender
/// copies the bytes. Where the room is long, that takes longer than another transfer, and they
/// travel apart.
///
/// Threads: one.
class ReceiveBufferSizes {
 public:
  static constexpr std::int64_t kUnknown = -1;
  /// Bytes of the longest room that has the header in front. From four times as many on the copy
  /// costs more than the transfer that it spares (docs/performance.md).
  static constexpr std::int64_t kLongestTogether = std::int64_t{256} << 10;

  /// `longestTogether`: the same at both ends.
  explicit ReceiveBufferSizes(std::int64_t longestTogether) : longestTogether_(longestTogether) {}

  /// The room of a message, once those of the steps before were noted; kUnknown: none was noted for
  /// its stage. It stays the same until a message of another step is noted.
  std::int64_t of(const MessageKey& key) const;

  /// Whether a message travels in one buffer with its header, if its room holds it. Known as soon
  /// as of() is.
  bool isTogether(const MessageKey& key) const;

  /// A message of that many bytes passed; in the order of the sends.
  void note(const MessageKey& key, std::int64_t bytes);

 private:
  struct Room {
    int firstStep = 0;         // of the first message
    int step = 0;              // of the message noted last
    std::int64_t settled = 0;  // the room of that step's messages
    std::int64_t longest = 0;  // of all messages
  };
  const std::int64_t longestTogether_;
  std::map<int, Room> sizes_;  // by stage
};

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

/// The two ends of a lane over Gloo. `group` and `clock` must outlive them.
///
/// A message is a header and the tensor's bytes, for which the receiver has a buffer as long as the
/// message's room (ReceiveBufferSizes). From the second step of a stage on both travel in one
/// buffer, in one transfer. The received tensor is a view of that buffer.
///
/// In the first step, and where the room is long, they travel apart: the body is received together
/// with the header, in one round trip. The first message to a stage has no room, and its body waits
/// for the header. A body that is longer than its room travels under a tag of its own, after the
/// header: a second round trip. Where header and body travel apart, one byte goes in its place.
///
/// A received tensor keeps its whole buffer: as many bytes as the longest message to its stage in
/// the steps before. Where its receive was posted before all messages of those steps had come, it
/// keeps as many as travel together at most.
struct GlooLaneOptions {
  int peer = 0;
  LaneName name = MessageKind::kActivations;
  std::size_t messages = 1;  ///< the most that are on their way
  GlooTags tags;
  /// Whether a thread of the lane waits for the transfers, so that the compute thread does not.
  /// Else a send waits until the peer has received it: what it can receive when it has posted the
  /// receive, without bytes that wait for the header.
  bool background = true;
  /// Where the rank's messages are; null: in the host's memory. The lane's thread moves them
  /// through pinned memory, on a stream of its own.
  RankDevice* device = nullptr;
  std::int64_t longestTogether =
      ReceiveBufferSizes::kLongestTogether;  ///< of ReceiveBufferSizes; alike at both ends
};

std::unique_ptr<SendLane<Message>> makeGlooSendLane(GlooGroup& group,
                                                    const GlooLaneOptions& options,
                                                    const StampClock& clock);
std::unique_ptr<ReceiveLane<Message>> makeGlooReceiveLane(GlooGroup& group,
                                                          const GlooLaneOptions& options,
                                                          const StampClock& clock);

}  // namespace pipetrace
