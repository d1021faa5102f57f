#include "analysis/clocks/align_clocks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/clocks/move_times.h"
#include "trace/text/decimal_time.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

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

__extension__ using Wide = __int128;

Nanoseconds widestBound(const RankClock& clock) {
  Nanoseconds widest = 0;
  for (const ClockReading& reading : clock.readings()) widest = std::max(widest, reading.bound);
  return widest;
}

/// Whether the other clock is within both bounds of what these readings say.
bool agree(const std::vector<ClockReading>& readings, const RankClock& other) {
  const Nanoseconds bound = widestBound(other);
  return std::all_of(readings.begin(), readings.end(), [&](const ClockReading& reading) {
    const Wide apart = Wide{other.toRankZero(reading.when)} - reading.when - reading.offset;
    const Wide most = Wide{reading.bound} + bound;
    return apart <= most && -apart <= most;
  });
}

/// Gives the ranks of a host one clock: the most exact of theirs, and on rank 0's host that of
/// rank 0. Else a message between two of them might be received before it is sent, as each
/// comparison is off by something else. A rank whose own comparisons say otherwise keeps its own.
void shareClocks(const Timeline& timeline, RankClocks& clocks) {
  std::map<std::string, RankClock> ofHosts;
  for (const auto& [rank, clock] : clocks) {
    const std::string& host = timeline.ranks.at(rank).host;
    const auto [best, isFirst] = ofHosts.try_emplace(host, clock);
    if (!isFirst && widestBound(clock) < widestBound(best->second)) best->second = clock;
  }
  const auto zero = timeline.ranks.find(0);
  if (zero != timeline.ranks.end()) {
    ofHosts.insert_or_assign(zero->second.host, RankClock({ClockReading{}}));
  }
  for (auto& [rank, clock] : clocks) {
    const std::string& host = timeline.ranks.at(rank).host;
    if (host.empty() || !agree(clock.readings(), ofHosts.at(host))) continue;
    clock = ofHosts.at(host);
  }
}

/// The clocks of the ranks whose times are converted.
RankClocks clocksOf(const Timeline& timeline, Diagnostics& diagnostics) {
  RankClocks clocks;
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

/// The readings of ranks whose times were converted.
void moveReadings(Timeline& timeline, const RankClocks& clocks) {
  for (const auto& [rank, clock] : clocks) {
    std::vector<ClockReading>& readings = timeline.ranks.at(rank).clockReadings;
    readings = clock.readings();
    for (ClockReading& reading : readings) {
      reading = {.when = clock.toRankZero(reading.when), .offset = 0, .bound = reading.bound};
    }
  }
}

void reportMovedRanks(const RankClocks& clocks, Diagnostics& diagnostics) {
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
                              "; by the logs they are exact to within " + formatDuration(bound)});
}

}  // namespace

Timeline alignedByLog(Timeline timeline, Diagnostics& diagnostics) {
  noteSeveralHosts(timeline, diagnostics);
  RankClocks clocks = clocksOf(timeline, diagnostics);
  shareClocks(timeline, clocks);
  std::erase_if(clocks, [](const auto& entry) {
    const std::vector<ClockReading>& readings = entry.second.readings();
    return std::all_of(readings.begin(), readings.end(),
                       [](const ClockReading& reading) { return reading.offset == 0; });
  });
  if (clocks.empty()) return timeline;
  if (!moveTimes(timeline, clocks)) {
    diagnostics.add(
        {.message = "with the offsets that the logs give, ranks would be 292 years "
                    "apart; no clock was aligned",
         .advice = "a `Profiler Clock:` line is wrong; --align none ignores such lines"});
    return timeline;
  }
  moveReadings(timeline, clocks);
  reportMovedRanks(clocks, diagnostics);
  return timeline;
}

}  // namespace pipetrace
