#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/slowdown.h"
#include "analysis/run_summary.h"

namespace pipetrace::test {

/// Completes a run, and compares it with its ideal.
inline Slowdown slowdownIn(Timeline timeline, std::vector<std::int32_t> steps = {},
                           int threads = 1) {
  timeline.sort();
  for (const Track& track : timeline.tracks) timeline.ranks[track.rank].rank = track.rank;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  const Topology topology = topologyOf(timeline);
  const JobGraph graph(timeline, topology);
  return slowdownOf(timeline, graph, topology, steps, threads);
}

}  // namespace pipetrace::test
