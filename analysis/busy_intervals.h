#pragma once

#include <vector>

#include "analysis/interval.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The union of a rank's compute jobs (isCompute) over all its lanes and steps: ascending, neither
/// overlapping nor touching, none empty. This is the u_i of docs/metrics.md before it is cut to a
/// window.
std::vector<Interval> busyIntervals(const Timeline& timeline, int rank);

/// The parts of `window` that `busy` (as above) leaves free, ascending. Their lengths and those of
/// `busy` inside the window add up to the window.
std::vector<Interval> gapsIn(const std::vector<Interval>& busy, Interval window);

/// How much of `window` is covered by `busy`.
Nanoseconds busyIn(const std::vector<Interval>& busy, Interval window);

/// Sorts and merges.
void unite(std::vector<Interval>& intervals);

}  // namespace pipetrace
