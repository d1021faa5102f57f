#pragma once

#include <cstdint>
#include <map>

#include "runtime/lanes/message_key.h"

namespace pipetrace {

/// How long the buffers are in which a lane's messages are received together with their headers.
/// Both ends reckon it alike, from the messages before, so they need not tell each other.
///
/// A message's room is the length of the longest one to its stage in all steps before. In the first
/// step it is the length of the first one. So it does not depend on how many receives of a step are
/// posted ahead.
///
/// Threads: one.
class GlooRooms {
 public:
  static constexpr std::int64_t kUnknown = -1;

  /// The room of a message, once those of the steps before were noted; kUnknown: none was noted for
  /// its stage. It stays the same until a message of another step is noted.
  std::int64_t of(const MessageKey& key) const;

  /// A message of that many bytes passed; in the order of the sends.
  void note(const MessageKey& key, std::int64_t bytes);

 private:
  struct Room {
    int step = 0;              // of the message noted last
    std::int64_t settled = 0;  // the room of that step's messages
    std::int64_t longest = 0;  // of all messages
  };
  std::map<int, Room> rooms_;  // by stage
};

}  // namespace pipetrace
