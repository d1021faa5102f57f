#include "chart/statistics/area_sums.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "chart/statistics/key_table.h"
#include "chart/text/bubble_text.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

AreaSums::OfTrack sumsOf(const StatisticsIndex& index, std::size_t track,
                         const Timeline::Span& time, const std::atomic<bool>& stop) {
  KeyTable<EventSums> sums;
  const Track& events = index.timeline().tracks[track];
  const auto& blocks = index.blocks(track);
  const OwnTimes* const own = index.ownTimes(track);
  std::vector<std::pair<std::size_t, Nanoseconds>> atBegin;
  std::vector<std::pair<std::size_t, Nanoseconds>> atEnd;
  if (own != nullptr) {
    atBegin = own->before(events.events, time.begin);
    atEnd = own->before(events.events, time.end);
  }
  const auto ownBefore = [](const std::vector<std::pair<std::size_t, Nanoseconds>>& times,
                            std::size_t event) {
    const auto found = std::lower_bound(times.begin(), times.end(), std::pair(event, kNsMin));
    return found == times.end() || found->first != event ? 0 : found->second;
  };
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
      const Nanoseconds part = std::min(event.end, time.end) - std::max(event.begin, time.begin);
      Nanoseconds ownPart = part;
      if (own != nullptr) {
        ownPart = event.end > time.end ? ownBefore(atEnd, i) : own->of(i);
        if (event.begin < time.begin) ownPart -= ownBefore(atBegin, i);
      }
      sums[sumsKey(event.kind, event.bubbleClass, event.stage)].add(event.duration(), part,
                                                                    ownPart);
    }
  }
  return {events.rank, sums.take()};
}

constexpr std::size_t kBlocksAtOnce = 64;

/// The union of compute jobs that come in the order of their begins.
struct Busy {
  Nanoseconds time = 0;
  Nanoseconds upTo = kNsMin;

  void add(const Event& job) {
    if (!isCompute(job.kind) || job.end <= upTo) return;
    time = addedTimes(time, job.end - std::max(job.begin, upTo));
    upTo = job.end;
  }
};

/// A block before the jobs of earlier blocks are known: busyBefore and busyUpTo are its own.
StatisticsIndex::Block blockOf(std::span<const Event> events) {
  KeyTable<EventSums> sums;
  Busy busy;
  Nanoseconds lastEnd = kNsMin;
  bool isFlat = true;
  for (const Event& event : events) {
    const Nanoseconds duration = event.duration();
    sums[sumsKey(event.kind, event.bubbleClass, event.stage)].add(duration, duration, duration);
    isFlat = isFlat && event.begin >= lastEnd;
    lastEnd = std::max(lastEnd, event.end);
    busy.add(event);
  }
  return {events.front().begin, lastEnd, sums.take(), busy.time, busy.upTo, isFlat};
}

}  // namespace

std::optional<std::int32_t> lineOf(StatisticsBy by, std::uint64_t key, int rank, StatisticsOf of) {
  const JobKind kind = kindOfKey(key);
  const bool isBubble = kind == JobKind::kBubble;
  const bool isChosen = of == StatisticsOf::kAll || (!isBubble && groupOf(kind) == of);
  if (!isChosen && by != StatisticsBy::kBubbleClass) return std::nullopt;
  switch (by) {
    case StatisticsBy::kKind: return static_cast<std::int32_t>(kind);
    case StatisticsBy::kStage:
      if (isBubble) return std::nullopt;
      return std::max(static_cast<std::int32_t>(key & 0xFFFFFFFFU), kNotGiven);
    case StatisticsBy::kRank:
      if (isBubble) return std::nullopt;
      return rank;
    case StatisticsBy::kBubbleClass:
      if (!isBubble) return std::nullopt;
      return static_cast<std::int32_t>(key >> 32U & 0xFFU);
  }
  return std::nullopt;
}

std::string lineName(StatisticsBy by, std::int32_t line) {
  switch (by) {
    case StatisticsBy::kKind: {
      std::string name(logName(static_cast<JobKind>(line)));
      std::replace(name.begin(), name.end(), '_', ' ');
      return name;
    }
    case StatisticsBy::kStage:
      return line == kNotGiven ? "no stage" : "stage " + std::to_string(line);
    case StatisticsBy::kRank: return "rank " + std::to_string(line);
    case StatisticsBy::kBubbleClass: {
      const auto bubbleClass = static_cast<BubbleClass>(line);
      return bubbleClass == BubbleClass::kNone ? "no class" : bubbleClassWords(bubbleClass);
    }
  }
  return {};
}

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

std::vector<StatisticsLine> linesOf(const AreaSums& sums, StatisticsBy by, StatisticsOf of) {
  std::map<std::int32_t, EventSums> lines;
  for (const AreaSums::OfTrack& track : sums.tracks) {
    for (const auto& [key, ofKey] : track.sums) {
      if (const auto line = lineOf(by, key, track.rank, of)) lines[*line].add(ofKey);
    }
  }
  std::vector<StatisticsLine> list;
  list.reserve(lines.size());
  for (const auto& [line, ofLine] : lines) list.push_back({line, ofLine});
  return list;
}

StatisticsIndex::StatisticsIndex(const Timeline& timeline, int threads,
                                 const std::atomic<bool>* stop)
    : timeline_(&timeline), tracks_(timeline.tracks.size()), own_(timeline.tracks.size()) {
  std::vector<std::pair<std::size_t, std::size_t>> pieces;  // track, first block
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    tracks_[t].resize((timeline.tracks[t].events.size() + kBlock - 1) / kBlock);
    for (std::size_t b = 0; b < tracks_[t].size(); b += kBlocksAtOnce) pieces.emplace_back(t, b);
  }
  inParallel(threads, pieces.size(), [&](std::size_t i) {
    if (stop != nullptr && *stop) return;
    const auto [track, first] = pieces[i];
    const std::size_t last = std::min(first + kBlocksAtOnce, tracks_[track].size());
    const std::span<const Event> events(timeline.tracks[track].events);
    for (std::size_t b = first; b < last; ++b) {
      const auto [from, to] = eventsOf(track, b);
      tracks_[track][b] = blockOf(events.subspan(from, to - from));
    }
  });
  if (stop != nullptr && *stop) return;
  inParallel(threads, tracks_.size(), [&](std::size_t t) {
    addBusy(t);
    addOwn(t);
  });
}

void StatisticsIndex::addOwn(std::size_t track) {
  bool isFlat = true;
  Nanoseconds lastEnd = kNsMin;
  for (const Block& block : tracks_[track]) {
    isFlat = isFlat && block.isFlat && block.firstBegin >= lastEnd;
    lastEnd = std::max(lastEnd, block.lastEnd);
  }
  if (isFlat) return;
  const std::vector<Event>& events = timeline_->tracks[track].events;
  auto own = std::make_unique<const OwnTimes>(events, kBlock);
  for (std::size_t b = 0; b < tracks_[track].size(); ++b) {
    KeyTable<Nanoseconds> sums;
    const auto [from, to] = eventsOf(track, b);
    for (std::size_t i = from; i < to; ++i) {
      Nanoseconds& sum = sums[sumsKey(events[i].kind, events[i].bubbleClass, events[i].stage)];
      sum = addedTimes(sum, own->of(i));
    }
    for (auto& [key, ofKey] : tracks_[track][b].sums) ofKey.own = sums[key];
  }
  own_[track] = std::move(own);
}

std::pair<std::size_t, std::size_t> StatisticsIndex::eventsOf(std::size_t track,
                                                              std::size_t block) const {
  return {block * kBlock, std::min((block + 1) * kBlock, timeline_->tracks[track].events.size())};
}

void StatisticsIndex::addBusy(std::size_t track) {
  Busy before;
  for (std::size_t b = 0; b < tracks_[track].size(); ++b) {
    Block& block = tracks_[track][b];
    const Busy own{block.busyBefore, block.busyUpTo};
    block.busyBefore = before.time;
    block.busyUpTo = before.upTo;
    if (before.upTo <= block.firstBegin) {
      before.time = addedTimes(before.time, own.time);
      before.upTo = std::max(before.upTo, own.upTo);
      continue;
    }
    const auto [from, to] = eventsOf(track, b);
    for (std::size_t i = from; i < to; ++i) before.add(timeline_->tracks[track].events[i]);
  }
}

Nanoseconds StatisticsIndex::busyBefore(std::size_t track, Nanoseconds time) const {
  const std::vector<Block>& blocks = tracks_[track];
  const auto after = std::partition_point(blocks.begin(), blocks.end(),
                                          [&](const Block& b) { return b.firstBegin < time; });
  if (after == blocks.begin()) return 0;
  const auto block = static_cast<std::size_t>(after - blocks.begin()) - 1;
  Busy busy{blocks[block].busyBefore, blocks[block].busyUpTo};
  const auto [from, to] = eventsOf(track, block);
  const std::vector<Event>& events = timeline_->tracks[track].events;
  for (std::size_t i = from; i < to && events[i].begin < time; ++i) busy.add(events[i]);
  // All these jobs began before `time`: what reaches beyond it is one stretch.
  return busy.upTo > time ? busy.time - (busy.upTo - time) : busy.time;
}

}  // namespace pipetrace
