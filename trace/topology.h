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

  /// By rank: those with a compute job.
  std::map<int, Place> places;
  /// Whether some of it did not stand in the logs.
  bool inferred = false;

  /// The ranks of each replica, ascending.
  std::map<int, std::vector<int>> replicas() const;
};

/// From `Profiler Meta:` where the logs have it. Else ranks that send to each other make up a
/// pipeline (all ranks one, unless that gives several of the same size), replicas are counted by
/// their lowest rank, the chunks are those that the jobs name, and the order is that of the ranks.
/// On so many threads, which makes no difference to the result.
Topology topologyOf(const Timeline& timeline, int threads = 1);

}  // namespace pipetrace
