#include "analysis/run/clocks/move_times.h"

#include <algorithm>
#include <vector>

#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

__extension__ using Wide = __int128;

Wide atRankZero(const ClockReading& reading) { return Wide{reading.when} + reading.offset; }

Nanoseconds clamped(Wide time) {
  return static_cast<Nanoseconds>(std::clamp<Wide>(time, kNsMin, kNsMax));
}

/// Rounds towards minus infinity on both sides of zero; `b` is above zero.
Wide floorDivide(Wide a, Wide b) { return a / b - static_cast<Wide>(a % b < 0); }

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

RankClock::RankClock(std::vector<ClockReading> readings) {
  std::stable_sort(readings.begin(), readings.end(),
                   [](const ClockReading& a, const ClockReading& b) { return a.when < b.when; });
  for (const ClockReading& reading : readings) add(reading);
}

void RankClock::add(const ClockReading& reading) {
  constexpr Nanoseconds kFarthest = kNsMax / 2;  // 146 years; products with it fit 128 bits
  if (reading.offset > kFarthest || reading.offset < -kFarthest) {
    ++contradictions_;
    return;
  }
  while (!readings_.empty()) {
    const ClockReading& last = readings_.back();
    if (reading.when > last.when && atRankZero(reading) > atRankZero(last)) break;
    if (reading.when != last.when || reading.offset != last.offset) ++contradictions_;
    if (reading.bound >= last.bound) return;
    readings_.pop_back();
  }
  readings_.push_back(reading);
}

Nanoseconds RankClock::toRankZero(Nanoseconds time) const {
  const auto after =
      std::upper_bound(readings_.begin(), readings_.end(), time,
                       [](Nanoseconds t, const ClockReading& reading) { return t < reading.when; });
  if (after == readings_.begin()) return clamped(Wide{time} + after->offset);
  const ClockReading& before = *(after - 1);
  if (after == readings_.end() || after->offset == before.offset) {
    return clamped(Wide{time} + before.offset);
  }
  const Wide rise = Wide{after->offset} - before.offset;
  const Wide passed = Wide{time} - before.when;
  const Wide run = Wide{after->when} - before.when;
  // As a rule the product fits 64 bits, where a division is many times as fast.
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(rise, passed, &product) && run <= kNsMax) {
    const auto run64 = static_cast<std::int64_t>(run);
    const std::int64_t share = product / run64 - static_cast<int>(product % run64 < 0);
    return clamped(Wide{time} + before.offset + share);
  }
  return clamped(Wide{time} + before.offset + floorDivide(rise * passed, run));
}

std::map<int, Timeline::Span> spansOfRanks(const Timeline& timeline, int threads) {
  std::vector<Timeline::Span> ofTracks(timeline.tracks.size(), {kNsMax, kNsMin});
  inParallel(threads, ofTracks.size(), [&](std::size_t t) {
    Timeline::Span span = ofTracks[t];
    for (const Event& event : timeline.tracks[t].events) {
      span.begin = std::min(span.begin, event.begin);
      span.end = std::max(span.end, event.end);
    }
    ofTracks[t] = span;
  });
  std::map<int, Timeline::Span> spans;
  const auto add = [&](int rank, Nanoseconds begin, Nanoseconds end) {
    const auto [span, isNew] = spans.try_emplace(rank, Timeline::Span{begin, end});
    span->second.begin = std::min(span->second.begin, begin);
    span->second.end = std::max(span->second.end, end);
  };
  for (std::size_t t = 0; t < ofTracks.size(); ++t) {
    const Track& track = timeline.tracks[t];
    if (!track.events.empty()) add(track.rank, ofTracks[t].begin, ofTracks[t].end);
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
