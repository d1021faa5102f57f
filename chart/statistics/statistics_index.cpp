#include "chart/statistics/statistics_index.h"

#include <algorithm>
#include <span>

#include "chart/statistics/key_table.h"
#include "chart/statistics/statistics_line.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

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
  for (const Event& event : events) {
    const Nanoseconds duration = event.duration();
    sums[sumsKey(event.kind, event.bubbleClass, event.stage)].add(duration, duration);
    lastEnd = std::max(lastEnd, event.end);
    busy.add(event);
  }
  return {events.front().begin, lastEnd, sums.take(), busy.time, busy.upTo};
}

}  // namespace

StatisticsIndex::StatisticsIndex(const Timeline& timeline, int threads,
                                 const std::atomic<bool>* stop)
    : timeline_(&timeline), tracks_(timeline.tracks.size()) {
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
  inParallel(threads, tracks_.size(), [&](std::size_t t) { addBusy(t); });
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
