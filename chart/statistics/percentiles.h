#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "chart/statistics/area_sums.h"
#include "chart/statistics/duration_histogram.h"

namespace pipetrace {

/// How long the events of a line are. Whole durations, also of events that are partly in the area.
struct LinePercentiles {
  std::optional<std::int32_t> line;  ///< as in StatisticsLine; nothing: all lines together
  /// Is the mean of the middle two, rounded down, if the count is even.
  Nanoseconds median = 0;
  /// The shortest duration that 90 % (99 %) of the events do not exceed.
  Nanoseconds p90 = 0;
  Nanoseconds p99 = 0;
  DurationHistogram histogram;
};

/// Finds the exact percentiles of each line of linesOf(sums, by), then those of all lines together.
/// Calls `found` with each as soon as it is known, on one thread at a time. Takes eight bytes of
/// memory per event. Uses that many threads (0: one per core). Ends early once `stop` is set.
void findPercentiles(const StatisticsIndex& index, const AreaSums& sums, StatisticsBy by,
                     int threads, const std::atomic<bool>& stop,
                     const std::function<void(LinePercentiles)>& found);

}  // namespace pipetrace
