#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "analysis/run_summary.h"
#include "trace/bubble_class.h"

namespace pipetrace {

/// Idle time of one class, and the job that caused it.
struct Bubble {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  JobGraph::Id culprit = JobGraph::kNone;  ///< kNone: the schedule's own, or not known
  std::int32_t step = kNotGiven;           ///< of the window
  BubbleClass bubbleClass = BubbleClass::kUnknown;
};

/// Idle time by class, in nanoseconds. Index: BubbleClass.
using ClassTimes = std::array<Nanoseconds, kBubbleClassCount>;

/// The idle time of all ranks by class and culprit, as docs/metrics.md defines it.
struct Bubbles {
  /// By index in JobGraph::ranks(), ascending and without overlap.
  std::vector<std::vector<Bubble>> byRank;

  ClassTimes times(std::uint32_t rank) const;
};

/// Gives each nanosecond of a step's window in which a rank ran no compute job a class. The classes
/// of a rank add up to its idle time. `summary` is that of the graph's timeline. Uses that many
/// threads, which makes no difference to the result.
Bubbles classifyBubbles(const JobGraph& graph, const RunSummary& summary, int threads = 1);

}  // namespace pipetrace
