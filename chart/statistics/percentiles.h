#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "chart/statistics/area_sums.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// How many durations are in each of a row of bins.
struct DurationHistogram {
  /// Bin i has the durations in [edges[i], edges[i + 1]). One more than counts; ascending.
  std::vector<Nanoseconds> edges;
  std::vector<std::size_t> counts;
  bool isLogarithmic = false;  ///< bins are equally wide on a logarithmic scale

  std::size_t binOf(Nanoseconds duration) const;
};

/// Up to `most` bins from the shortest to the longest duration. They are on a logarithmic scale if
/// these are far apart (a factor of 50).
DurationHistogram histogramBins(Nanoseconds shortest, Nanoseconds longest, std::size_t most = 48);

/// Counts the durations into the bins. They must be within the edges.
void countInto(DurationHistogram& histogram, std::span<const Nanoseconds> durations);

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

/// Finds the exact percentiles of each line of linesOf(sums, by, of), then those of all lines
/// together. Calls `found` with each as soon as it is known, on one thread at a time. Takes eight
/// bytes of memory per event. Uses that many threads (0: one per core). Ends early once `stop` is
/// set.
void findPercentiles(const StatisticsIndex& index, const AreaSums& sums, StatisticsBy by,
                     StatisticsOf of, int threads, const std::atomic<bool>& stop,
                     const std::function<void(LinePercentiles)>& found);

}  // namespace pipetrace
