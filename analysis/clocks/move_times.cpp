#include "analysis/clocks/move_times.h"

#include <algorithm>

namespace pipetrace {
namespace {

/// Whether all converted times, and the distances between them, fit 64 bits.
bool fits(const RankClocks& clocks, const std::map<int, Timeline::Span>& spans) {
  Timeline::Span whole{kNsMax, kNsMin};
  for (auto [rank, span] : spans) {
    if (const auto clock = clocks.find(rank); clock != clocks.end()) {
      span = {clock->second.toRankZero(span.begin), clock->second.toRankZero(span.end)};
      if (span.begin == kNsMin || span.end == kNsMax) return false;
    }
    whole.begin = std::min(whole.begin, span.begin);
    whole.end = std::max(whole.end, span.end);
  }
  Nanoseconds length = 0;
  return spans.empty() || !__builtin_sub_overflow(whole.end, whole.begin, &length);
}

}  // namespace

std::map<int, Timeline::Span> spansOfRanks(const Timeline& timeline) {
  std::map<int, Timeline::Span> spans;
  const auto add = [&](int rank, Nanoseconds begin, Nanoseconds end) {
    const auto [span, isNew] = spans.try_emplace(rank, Timeline::Span{begin, end});
    span->second.begin = std::min(span->second.begin, begin);
    span->second.end = std::max(span->second.end, end);
  };
  for (const Track& track : timeline.tracks) {
    if (track.events.empty()) continue;
    Timeline::Span span{kNsMax, kNsMin};
    for (const Event& event : track.events) {
      span.begin = std::min(span.begin, event.begin);
      span.end = std::max(span.end, event.end);
    }
    add(track.rank, span.begin, span.end);
  }
  for (const CounterSeries& series : timeline.counters) {
    for (const CounterSample& sample : series.samples) add(series.rank, sample.time, sample.time);
  }
  return spans;
}

bool moveTimes(Timeline& timeline, const RankClocks& clocks) {
  if (!fits(clocks, spansOfRanks(timeline))) return false;
  for (Track& track : timeline.tracks) {
    const auto clock = clocks.find(track.rank);
    if (clock == clocks.end()) continue;
    for (Event& event : track.events) {
      event.begin = clock->second.toRankZero(event.begin);
      event.end = clock->second.toRankZero(event.end);
    }
  }
  for (CounterSeries& series : timeline.counters) {
    const auto clock = clocks.find(series.rank);
    if (clock == clocks.end()) continue;
    for (CounterSample& sample : series.samples) {
      sample.time = clock->second.toRankZero(sample.time);
    }
  }
  for (const auto& [rank, clock] : clocks) {
    const auto info = timeline.ranks.find(rank);
    if (info == timeline.ranks.end()) continue;
    for (Nanoseconds& begin : info->second.partBegins) begin = clock.toRankZero(begin);
  }
  timeline.sort();  // events that began 1 ns apart may now begin at the same time
  return true;
}

}  // namespace pipetrace
