#include "analysis/clocks/align_clocks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/clocks/rank_clock.h"
#include "analysis/report/ranks_text.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

using Clocks = std::map<int, RankClock>;

/// The first and the last instant of each rank.
std::map<int, Timeline::Span> spansOf(const Timeline& timeline) {
  std::map<int, Timeline::Span> spans;
  const auto add = [&](int rank, Nanoseconds begin, Nanoseconds end) {
    const auto [span, isNew] = spans.try_emplace(rank, Timeline::Span{begin, end});
    span->second.begin = std::min(span->second.begin, begin);
    span->second.end = std::max(span->second.end, end);
  };
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) add(track.rank, event.begin, event.end);
  }
  for (const CounterSeries& series : timeline.counters) {
    for (const CounterSample& sample : series.samples) add(series.rank, sample.time, sample.time);
  }
  return spans;
}

/// Whether all converted times, and the distances between them, fit 64 bits.
bool fits(const Clocks& clocks, const std::map<int, Timeline::Span>& spans) {
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

/// Warns of offsets in rank 0's log: other clocks are converted to rank 0's, which has none.
void checkRankZero(const std::vector<ClockReading>& readings, Diagnostics& diagnostics) {
  const auto count = std::count_if(readings.begin(), readings.end(),
                                   [](const ClockReading& each) { return each.offset != 0; });
  if (count == 0) return;
  diagnostics.add({.message = "the log of rank 0 gives an offset from rank 0's own clock, which is "
                              "ignored",
                   .advice = "are the logs of several runs or pipelines mixed, or renumbered?",
                   .count = count});
}

/// The clocks of the ranks whose times are converted.
Clocks clocksOf(const Timeline& timeline, Diagnostics& diagnostics) {
  Clocks clocks;
  std::vector<int> without;
  for (const auto& [rank, info] : timeline.ranks) {
    if (info.clockReadings.empty()) {
      if (rank != 0) without.push_back(rank);
      continue;
    }
    RankClock clock(info.clockReadings);
    if (clock.contradictions() > 0) {
      diagnostics.add({.message = "comparisons of rank " + std::to_string(rank) +
                                  "'s clock with rank 0's contradict each other; the less exact "
                                  "ones were not used",
                       .advice = "was the clock set during the run?",
                       .count = clock.contradictions()});
    }
    if (rank == 0) checkRankZero(info.clockReadings, diagnostics);
    if (rank != 0 && !clock.readings().empty()) clocks.emplace(rank, std::move(clock));
  }
  if (!clocks.empty() && !without.empty()) {
    diagnostics.add({.message = "unlike others, " + ranksText(without) +
                                (without.size() == 1 ? " has" : " have") +
                                " no comparisons with rank 0's clock; times of " +
                                ranksText(without) + " stay as they are",
                     .advice = "--align none leaves the times of all ranks as they are"});
  }
  return clocks;
}

/// Ranks of several hosts may have clocks that differ. Nobody compared them.
void noteSeveralHosts(const Timeline& timeline, Diagnostics& diagnostics) {
  std::map<std::string, std::vector<int>> hosts;
  for (const auto& [rank, info] : timeline.ranks) {
    if (!info.clockReadings.empty()) return;
    if (!info.host.empty()) hosts[info.host].push_back(rank);
  }
  if (hosts.size() < 2) return;
  diagnostics.add({.severity = Severity::kNote,
                   .message = "the ranks ran on " + std::to_string(hosts.size()) + " hosts (" +
                              hosts.begin()->first + ", " + std::next(hosts.begin())->first +
                              (hosts.size() > 2 ? ", …" : "") +
                              "), whose clocks were not compared; times of different hosts may be "
                              "shifted against each other"});
}

void move(Timeline& timeline, const Clocks& clocks) {
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
    for (Nanoseconds& begin : timeline.ranks.at(rank).partBegins) begin = clock.toRankZero(begin);
    std::vector<ClockReading>& readings = timeline.ranks.at(rank).clockReadings;
    readings = clock.readings();
    for (ClockReading& reading : readings) {
      reading = {.when = clock.toRankZero(reading.when), .offset = 0, .bound = reading.bound};
    }
  }
  timeline.sort();  // events that began 1 ns apart may now begin at the same time
}

void reportMovedRanks(const Clocks& clocks, Diagnostics& diagnostics) {
  std::vector<int> ranks;
  std::uint64_t farthest = 0;
  Nanoseconds bound = 0;
  for (const auto& [rank, clock] : clocks) {
    ranks.push_back(rank);
    for (const ClockReading& reading : clock.readings()) {
      const auto offset = static_cast<std::uint64_t>(reading.offset);
      farthest = std::max(farthest, reading.offset < 0 ? 0 - offset : offset);
      bound = std::max(bound, reading.bound);
    }
  }
  diagnostics.add({.severity = Severity::kNote,
                   .message = "times of " + ranksText(ranks) +
                              " were moved into rank 0's clock, by up to " +
                              formatDuration(static_cast<Nanoseconds>(farthest)) +
                              "; they are exact to within " + formatDuration(bound)});
}

}  // namespace

Timeline alignedByLog(Timeline timeline, Diagnostics& diagnostics) {
  noteSeveralHosts(timeline, diagnostics);
  Clocks clocks = clocksOf(timeline, diagnostics);
  std::erase_if(clocks, [](const auto& entry) {
    const std::vector<ClockReading>& readings = entry.second.readings();
    return std::all_of(readings.begin(), readings.end(),
                       [](const ClockReading& reading) { return reading.offset == 0; });
  });
  if (clocks.empty()) return timeline;
  if (!fits(clocks, spansOf(timeline))) {
    diagnostics.add(
        {.message = "with the offsets that the logs give, ranks would be 292 years "
                    "apart; no clock was aligned",
         .advice = "a `Profiler Clock:` line is wrong; --align none ignores such lines"});
    return timeline;
  }
  move(timeline, clocks);
  reportMovedRanks(clocks, diagnostics);
  return timeline;
}

}  // namespace pipetrace
