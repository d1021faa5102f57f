#include "parser/profile/viewer_rows.h"

#include <algorithm>

#include "trace/sub_lanes.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// An event without length counts as 1 ns long here: both viewers would nest it into a job that
/// begins at the same instant, one row further down.
Nanoseconds endForViewer(const Event& event) {
  return event.begin == event.end && event.end < kNsMax ? event.end + 1 : event.end;
}

bool fitOneRow(const std::vector<Event>& events) {
  Nanoseconds free = kNsMin;
  for (const Event& event : events) {
    if (event.begin < free) return false;
    free = endForViewer(event);
  }
  return true;
}

/// Sub-lanes for a viewer; none where one row is enough.
std::vector<std::uint32_t> packForViewer(const std::vector<Event>& events) {
  if (fitOneRow(events)) return {};
  const auto isEmpty = [](const Event& e) { return e.begin == e.end && e.end < kNsMax; };
  std::vector<std::uint32_t> lanes;
  if (std::none_of(events.begin(), events.end(), isEmpty)) {
    lanes = packSubLanes(events);
  } else {
    std::vector<Event> widened = events;
    for (Event& event : widened) event.end = endForViewer(event);
    lanes = packSubLanes(widened);
  }
  if (subLaneCount(lanes) <= 1) lanes.clear();
  return lanes;
}

std::int64_t highestPid(const Timeline& timeline) {
  std::int64_t highest = 0;
  for (const Track& track : timeline.tracks) {
    highest = std::max(highest, ViewerRows::pidOf(track.rank));
  }
  for (const auto& [rank, info] : timeline.ranks) {
    highest = std::max(highest, ViewerRows::pidOf(rank));
  }
  return highest;
}

}  // namespace

ViewerRows::ViewerRows(const Timeline& timeline, int threads) : subLanes_(timeline.tracks.size()) {
  inParallel(threads, subLanes_.size(),
             [&](std::size_t t) { subLanes_[t] = packForViewer(timeline.tracks[t].events); });
  std::int64_t nextTid = highestPid(timeline) + 1;
  int sortIndex = 0;
  const Track* before = nullptr;
  for (const Track& track : timeline.tracks) {
    if (before == nullptr || before->rank != track.rank) sortIndex = 0;
    before = &track;
    firstRow_.push_back(rows_.size());
    const std::uint32_t count = std::max(subLaneCount(subLanes_[firstRow_.size() - 1]), 1U);
    for (std::uint32_t i = 0; i < count; ++i) {
      ViewerRow& row = rows_.emplace_back();
      row.pid = pidOf(track.rank);
      row.tid = track.lane == kComputeLane && i == 0 ? row.pid : nextTid++;
      row.lane = track.lane;
      row.name = i == 0 ? track.lane : track.lane + " (" + std::to_string(i + 1) + ")";
      row.sortIndex = sortIndex++;
    }
  }
}

}  // namespace pipetrace
