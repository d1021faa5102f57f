#pragma once

#include <map>
#include <span>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Moves the events of a run to where its jobs, messages and collectives run in another one.
class MovedEvents {
 public:
  /// A node of the graph, and when it runs. A message begins with the later of its two ends, a
  /// collective by itself.
  struct Work {
    JobGraph::Id node = JobGraph::kNone;
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };

  /// Both must outlive it.
  MovedEvents(const Timeline& timeline, const JobGraph& graph)
      : timeline_(timeline), graph_(graph) {}

  /// The run with its operations at these times, without bubbles. The end of a message that waited
  /// for the other one begins where it does beside the jobs of its rank, but no later than that
  /// one. Everything else moves with the jobs of its rank: as much as the nearest of them, and
  /// between two of them in proportion.
  Timeline moved(std::span<const Work> operations) const;

 private:
  const Timeline& timeline_;
  const JobGraph& graph_;
};

}  // namespace pipetrace
