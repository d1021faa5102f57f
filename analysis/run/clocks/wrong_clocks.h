#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "analysis/run/clocks/move_times.h"
#include "trace/clock_skew.h"
#include "trace/error.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The run as ranks on these hosts would have logged it, each in its own host's clock. `hosts`: by
/// rank; ranks beyond them stay as they are. With `areCompared`, ranks have exact comparisons with
/// rank 0's clock, at the begin and the end of the run.
inline Timeline loggedByHosts(Timeline run, const std::vector<MadeUpHost>& hosts,
                              bool areCompared) {
  if (hosts.empty()) return run;
  const auto [begin, end] = run.span();
  // The line of a clock goes through its offsets at the begin and some whole seconds later, past
  // the end, where it is a whole number of nanoseconds.
  const Nanoseconds length = ((end - begin) / kNsPerSecond + 1) * kNsPerSecond;
  RankClocks clocks;
  for (auto& [rank, info] : run.ranks) {
    if (rank < 0 || std::cmp_greater_equal(rank, hosts.size())) continue;
    const MadeUpHost& host = hosts[static_cast<std::size_t>(rank)];
    info.host = host.name;
    clocks.emplace(rank, RankClock({{begin, host.skew.offset, 0},
                                    {begin + length, host.skew.after(length), 0}}));
    if (!areCompared || rank == 0) continue;
    for (const Nanoseconds when : {begin, end}) {
      const Nanoseconds own = when + host.skew.after(when - begin);
      const Nanoseconds rankZeros = when + hosts.front().skew.after(when - begin);
      info.clockReadings.push_back({.when = own, .offset = rankZeros - own, .bound = 1});
    }
  }
  if (!moveTimes(run, clocks)) throw Error("clocks as wrong as that have no such times");
  return run;
}

}  // namespace pipetrace
