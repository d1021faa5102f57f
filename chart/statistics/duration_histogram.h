#pragma once

#include <cstddef>
#include <span>
#include <vector>

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

}  // namespace pipetrace
