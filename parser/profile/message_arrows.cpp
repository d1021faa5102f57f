#include "parser/profile/message_arrows.h"

#include <unordered_map>

#include "trace/message_arguments.h"

namespace pipetrace {
namespace {

/// Calls `visit` with the number and the place of each event of such lanes that has one.
template <typename Visit>
void forEachNumbered(const Timeline& timeline, bool (*isLane)(std::string_view), StringId key,
                     const Visit& visit) {
  for (std::uint32_t t = 0; t < timeline.tracks.size(); ++t) {
    const Track& track = timeline.tracks[t];
    if (!isLane(track.lane)) continue;
    for (std::uint32_t e = 0; e < track.events.size(); ++e) {
      for (const Argument& argument : timeline.argumentsOf(track.events[e])) {
        if (argument.key != key || argument.type != ArgumentType::kInteger) continue;
        visit(argument.integer, Arrow::Slice{t, e});
      }
    }
  }
}

const Event& eventAt(const Timeline& timeline, const Arrow::Slice& slice) {
  return timeline.tracks[slice.track].events[slice.event];
}

}  // namespace

std::vector<Arrow> findMessageArrows(const Timeline& timeline) {
  std::vector<Arrow> arrows;
  const auto key = timeline.strings.find(message_arguments::kMessage);
  if (!key) return arrows;
  std::unordered_map<std::int64_t, Arrow::Slice> sends;
  forEachNumbered(timeline, isSendLane, *key, [&](std::int64_t number, const Arrow::Slice& slice) {
    if (hasInside(eventAt(timeline, slice))) sends.try_emplace(number, slice);
  });
  forEachNumbered(timeline, isRecvLane, *key, [&](std::int64_t number, const Arrow::Slice& slice) {
    const auto send = sends.find(number);
    if (send == sends.end() || !hasInside(eventAt(timeline, slice))) return;
    if (eventAt(timeline, send->second).begin < eventAt(timeline, slice).begin) {
      arrows.push_back({send->second, slice});
    }
  });
  return arrows;
}

}  // namespace pipetrace
