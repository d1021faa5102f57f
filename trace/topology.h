#pragma once

#include <map>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Which ranks make up a pipeline, and in which order.
struct Topology {
  struct Place {
    int replica = 0;    ///< data-parallel index
    int position = -1;  ///< 0 .. depth - 1 in its pipeline; -1: not known
    int depth = 0;      ///< ranks of its pipeline
    int chunks = 1;     ///< stages per rank
  };

  /// The place of each rank that has a compute job.
  std::map<int, Place> places;
  /// Whether a part of it was not in the logs.
  bool inferred = false;

  /// The ranks of each replica, ascending.
  std::map<int, std::vector<int>> replicas() const;
};

/// The topology that `Profiler Meta:` gives, where the logs have it. Else it is inferred:
/// - ranks that send to each other make up a pipeline, if the pipelines are then of one size;
///   otherwise all ranks make up one pipeline;
/// - replicas are numbered in the order of their lowest ranks;
/// - chunks are those that the jobs name;
/// - the ranks of a pipeline follow each other in the order of their numbers.
/// Uses that many threads, which makes no difference to the result.
Topology topologyOf(const Timeline& timeline, int threads = 1);

}  // namespace pipetrace
