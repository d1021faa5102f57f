#pragma once

#include <cstdint>
#include <map>

#include "runtime/lanes/message_key.h"

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

}  // namespace pipetrace
