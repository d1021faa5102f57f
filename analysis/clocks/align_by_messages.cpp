#include "analysis/clocks/align_by_messages.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/clocks/causal_fit.h"
#include "analysis/clocks/job_crossings.h"
#include "analysis/clocks/move_times.h"
#include "trace/text/decimal_time.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

Nanoseconds rounded(double time) { return static_cast<Nanoseconds>(std::llround(time)); }

std::vector<ClockReading> readingsOf(const ClockHost& host, const FittedClock& clock) {
  const Nanoseconds bound = static_cast<Nanoseconds>(std::ceil(clock.bound));
  return {{host.span.begin, rounded(clock.begin), bound},
          {host.span.end, rounded(clock.end), bound}};
}

/// Warns of the hosts that messages do not tie to the first.
void reportUnknown(const std::vector<ClockHost>& hosts, const CausalFit& fit, bool isAsked,
                   Diagnostics& diagnostics) {
  std::vector<int> ranks;
  std::string names;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (fit.clocks[i].isKnown) continue;
    ranks.insert(ranks.end(), hosts[i].ranks.begin(), hosts[i].ranks.end());
    names += (names.empty() ? "" : ", ") + hosts[i].text();
  }
  const bool areAll = std::none_of(fit.clocks.begin() + 1, fit.clocks.end(),
                                   [](const FittedClock& clock) { return clock.isKnown; });
  if (ranks.empty() || (areAll && !isAsked)) return;
  std::sort(ranks.begin(), ranks.end());
  diagnostics.add({.message = "no messages in both directions tie the clock of " + names +
                              " to that of " + hosts.front().text() + "; times of " +
                              ranksText(ranks) + " stay as they are",
                   .advice = "--align none leaves the times of all ranks as they are"});
}

void reportMoved(const std::vector<ClockHost>& hosts, const CausalFit& fit, bool areJobs,
                 Diagnostics& diagnostics) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<int> ranks;
  double farthest = 0;
  double bound = 0;
  std::string each;
  std::size_t moved = 0;
  for (std::size_t i = 1; i < hosts.size(); ++i) {
    const FittedClock& clock = fit.clocks[i];
    if (!clock.isKnown) continue;
    ranks.insert(ranks.end(), hosts[i].ranks.begin(), hosts[i].ranks.end());
    farthest = std::max({farthest, std::abs(clock.begin), std::abs(clock.end)});
    bound = std::max(bound, clock.bound);
    if (++moved > kMostNamed) continue;
    each += (each.empty() ? "" : ", ") + hosts[i].text() + " by " + (clock.begin < 0 ? "-" : "") +
            formatDuration(rounded(std::abs(clock.begin)));
  }
  std::sort(ranks.begin(), ranks.end());
  diagnostics.add({.severity = Severity::kNote,
                   .message = "times of " + ranksText(ranks) + " were moved into the clock of " +
                              hosts.front().text() + " by the order of " +
                              (areJobs ? "jobs and messages" : "messages") + ", by up to " +
                              formatDuration(rounded(farthest)) + " (" + each +
                              (moved > kMostNamed ? ", …" : "") + "); they are exact to within " +
                              formatDuration(rounded(std::ceil(bound)))});
}

/// Messages say more of two ranks than their jobs do.
std::size_t addJobs(const Timeline& timeline, const std::vector<ClockHost>& hosts,
                    std::vector<Crossing>& crossings) {
  std::set<std::pair<int, int>> links;
  for (const Crossing& each : crossings) {
    if (isTransfer(each.event->kind)) links.insert({each.sender, each.receiver});
  }
  const std::size_t before = crossings.size();
  for (const Crossing& each : jobCrossings(timeline, hosts)) {
    if (!links.contains({each.sender, each.receiver})) crossings.push_back(each);
  }
  return crossings.size() - before;
}

}  // namespace

Timeline alignedByMessages(Timeline timeline, bool isAsked, const ClockEvidence& evidence,
                           Diagnostics& diagnostics, ByMessages& result) {
  result = ByMessages::kNothing;
  const std::vector<ClockHost> hosts =
      evidence.isRankClock ? clockRanksOf(timeline) : clockHostsOf(timeline);
  if (hosts.size() < 2) return timeline;
  std::vector<Crossing> crossings = crossingsOf(timeline, hosts);
  const bool areJobs = evidence.areJobs && addJobs(timeline, hosts, crossings) > 0;
  const CausalFit fit = fitClocks(hosts, crossings);
  if (!fit.contradiction.empty()) {
    if (!evidence.mayRefuse) return timeline;
    result = ByMessages::kRefused;
    diagnostics.add({.message = fit.contradiction + "; no clock was aligned",
                     .advice = "was a clock set during the run, or are logs of several runs mixed? "
                               "--align none leaves all times as they are",
                     .doubt = DoubtKind::kContradiction});
    return timeline;
  }
  reportUnknown(hosts, fit, isAsked, diagnostics);
  RankClocks clocks;
  for (std::size_t i = 1; i < hosts.size(); ++i) {
    if (!fit.clocks[i].isKnown) continue;
    for (const int rank : hosts[i].ranks) {
      clocks.emplace(rank, RankClock(readingsOf(hosts[i], fit.clocks[i])));
    }
  }
  if (clocks.empty() || !moveTimes(timeline, clocks)) return timeline;
  result = areJobs ? ByMessages::kAlignedWithJobs : ByMessages::kAligned;
  for (const auto& [rank, clock] : clocks) {
    std::vector<ClockReading>& readings = timeline.ranks[rank].clockReadings;
    readings = clock.readings();
    for (ClockReading& reading : readings) {
      reading = {.when = clock.toRankZero(reading.when), .offset = 0, .bound = reading.bound};
    }
  }
  for (const int rank : hosts.front().ranks) {
    if (rank == 0) continue;
    timeline.ranks[rank].clockReadings = {{.when = hosts.front().span.begin}};
  }
  reportMoved(hosts, fit, areJobs, diagnostics);
  return timeline;
}

}  // namespace pipetrace
