#include "runtime/transport/gloo_rooms.h"

#include <algorithm>

namespace pipetrace {

std::int64_t GlooRooms::of(const MessageKey& key) const {
  const auto found = rooms_.find(key.stage);
  if (found == rooms_.end()) return kUnknown;
  const Room& room = found->second;
  return room.step == key.step ? room.settled : room.longest;
}

void GlooRooms::note(const MessageKey& key, std::int64_t bytes) {
  const auto [found, isFirst] =
      rooms_.try_emplace(key.stage, Room{.step = key.step, .settled = bytes, .longest = bytes});
  if (isFirst) return;
  Room& room = found->second;
  room.settled = of(key);
  room.step = key.step;
  room.longest = std::max(room.longest, bytes);
}

}  // namespace pipetrace
