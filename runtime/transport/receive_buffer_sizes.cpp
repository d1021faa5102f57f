#include "runtime/transport/receive_buffer_sizes.h"

#include <algorithm>

namespace pipetrace {

std::int64_t ReceiveBufferSizes::of(const MessageKey& key) const {
  const auto found = sizes_.find(key.stage);
  if (found == sizes_.end()) return kUnknown;
  const Room& room = found->second;
  return room.step == key.step ? room.settled : room.longest;
}

// In the first step the receiver cannot know rooms when it posts: those of one message are known
// when another has come.
bool ReceiveBufferSizes::isTogether(const MessageKey& key) const {
  const auto found = sizes_.find(key.stage);
  return found != sizes_.end() && found->second.firstStep != key.step &&
         of(key) <= longestTogether_;
}

void ReceiveBufferSizes::note(const MessageKey& key, std::int64_t bytes) {
  const auto [found, isFirst] = sizes_.try_emplace(
      key.stage, Room{.firstStep = key.step, .step = key.step, .settled = bytes, .longest = bytes});
  if (isFirst) return;
  Room& room = found->second;
  room.settled = of(key);
  room.step = key.step;
  room.longest = std::max(room.longest, bytes);
}

}  // namespace pipetrace
