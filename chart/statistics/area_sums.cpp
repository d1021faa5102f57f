#include "chart/statistics/area_sums.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "chart/statistics/key_table.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

AreaSums::OfTrack sumsOf(const StatisticsIndex& index, std::size_t track,
                         const Timeline::Span& time, const std::atomic<bool>& stop) {
  KeyTable<EventSums> sums;
  const Track& events = index.timeline().tracks[track];
  const auto& blocks = index.blocks(track);
  for (std::size_t b = 0; b < blocks.size() && blocks[b].firstBegin < time.end && !stop; ++b) {
    if (!blocks[b].meets(time)) continue;
    if (blocks[b].isInside(time)) {
      for (const auto& [key, ofBlock] : blocks[b].sums) sums[key].add(ofBlock);
      continue;
    }
    const auto [from, to] = index.eventsOf(track, b);
    for (std::size_t i = from; i < to; ++i) {
      const Event& event = events.events[i];
      if (!isIn(event, time.begin, time.end)) continue;
      sums[sumsKey(event.kind, event.bubbleClass, event.stage)].add(
          event.duration(), std::min(event.end, time.end) - std::max(event.begin, time.begin));
    }
  }
  return {events.rank, sums.take()};
}

}  // namespace

AreaTracks tracksOf(const ChartModel& model, const ChartArea& area) {
  std::set<std::pair<int, std::string_view>> lanes;
  AreaTracks found{area.time, {}, 0};
  for (const std::size_t i : area.rows) {
    if (i >= model.rows().size()) continue;
    const ChartRow& row = model.rows()[i];
    lanes.emplace(row.rank, row.lane);
    if (!row.isCompute) continue;
    ++found.computeRows;
    lanes.emplace(row.rank, kBubbleLane);
  }
  const std::vector<Track>& tracks = model.timeline().tracks;
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    if (lanes.count({tracks[t].rank, tracks[t].lane}) > 0) found.tracks.push_back(t);
  }
  return found;
}

AreaSums sumsOf(const StatisticsIndex& index, const AreaTracks& area, int threads,
                const std::atomic<bool>& stop) {
  AreaSums sums{area, std::vector<AreaSums::OfTrack>(area.tracks.size()), 0, 0};
  std::vector<Nanoseconds> busy(area.tracks.size());
  inParallel(threads, area.tracks.size(), [&](std::size_t i) {
    if (stop) return;
    const std::size_t track = area.tracks[i];
    sums.tracks[i] = sumsOf(index, track, area.time, stop);
    if (index.timeline().tracks[track].lane != kComputeLane) return;
    busy[i] = index.busyBefore(track, area.time.end) - index.busyBefore(track, area.time.begin);
  });
  for (const Nanoseconds time : busy) sums.busy = addedTimes(sums.busy, time);
  for (const StatisticsLine& line : linesOf(sums, StatisticsBy::kBubbleClass)) {
    sums.idle = addedTimes(sums.idle, line.sums.inside);
  }
  return sums;
}

std::vector<StatisticsLine> linesOf(const AreaSums& sums, StatisticsBy by) {
  std::map<std::int32_t, EventSums> lines;
  for (const AreaSums::OfTrack& track : sums.tracks) {
    for (const auto& [key, ofKey] : track.sums) {
      if (const auto line = lineOf(by, key, track.rank)) lines[*line].add(ofKey);
    }
  }
  std::vector<StatisticsLine> list;
  list.reserve(lines.size());
  for (const auto& [line, ofLine] : lines) list.push_back({line, ofLine});
  return list;
}

}  // namespace pipetrace
