#include "parser/profile/arrow.h"

#include <unordered_map>

#include "parser/profile/micro_batch_arrows.h"
#include "trace/message_arguments.h"

namespace pipetrace {

std::vector<Arrow> findArrows(const Timeline& timeline) {
  std::vector<Arrow> arrows = findMicroBatchArrows(timeline);
  for (const auto find : {findLaunchArrows, findMessageArrows}) {
    const std::vector<Arrow> more = find(timeline);
    arrows.insert(arrows.end(), more.begin(), more.end());
  }
  return arrows;
}

namespace {

std::unordered_map<std::int64_t, std::uint32_t> jobsOf(const Track& track) {
  std::unordered_map<std::int64_t, std::uint32_t> jobs;
  for (std::uint32_t e = 0; e < track.events.size(); ++e) {
    if (track.events[e].job >= 0) jobs.try_emplace(track.events[e].job, e);
  }
  return jobs;
}

}  // namespace

std::vector<Arrow> findLaunchArrows(const Timeline& timeline) {
  std::vector<Arrow> arrows;
  for (std::uint32_t h = 0; h < timeline.tracks.size(); ++h) {
    const Track& host = timeline.tracks[h];
    if (host.lane != kHostLane) continue;
    const Track* const compute = timeline.findTrack(host.rank, kComputeLane);
    if (compute == nullptr) continue;
    const auto c = static_cast<std::uint32_t>(compute - timeline.tracks.data());
    const auto jobs = jobsOf(*compute);
    for (std::uint32_t e = 0; e < host.events.size(); ++e) {
      const Event& from = host.events[e];
      const auto found = jobs.find(from.job);
      if (found == jobs.end() || !hasInside(from)) continue;
      const Event& to = compute->events[found->second];
      if (hasInside(to) && from.begin < to.begin) arrows.push_back({{h, e}, {c, found->second}});
    }
  }
  return arrows;
}

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
