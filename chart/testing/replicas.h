#pragma once

#include "chart/testing/timelines.h"

namespace pipetrace {

/// Several pipelines of `run.ranks` ranks each, for tests. Forward takes a millisecond longer in
/// each replica than in the one before it, so the last one is the slowest. Sorted.
inline Timeline makeReplicas(int replicas, const TestRun& run) {
  Timeline timeline;
  for (int replica = 0; replica < replicas; ++replica) {
    TestRun slower = run;
    slower.forward += replica * kNsPerMs;
    const Timeline one = makeTestTimeline(slower);
    const int first = replica * run.ranks;
    for (const Track& track : one.tracks) {
      Track& copy = timeline.track(first + track.rank, track.lane);
      copy.events = track.events;
      for (Event& event : copy.events) {
        if (event.peer != kNotGiven) event.peer += first;
      }
    }
    for (const auto& [rank, info] : one.ranks) {
      RankInfo& copy = timeline.ranks[first + rank] = info;
      copy.worldSize = replicas * run.ranks;
      copy.numChunks = 1;
      copy.dataParallelIndex = replica;
    }
  }
  timeline.sort();
  return timeline;
}

}  // namespace pipetrace
