#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/run/bubbles/run_basis.h"

namespace pipetrace {

/// The chain of jobs, messages and collectives that a step's length consists of: from its last end
/// back along what each waited for last. The times of a step add up to its window's length.
struct StepPath {
  /// A job, message or collective, and the part of the step that it takes.
  struct Link {
    JobGraph::Id node = JobGraph::kNone;
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    Nanoseconds wait = 0;  ///< before it: what it is known to have waited for had ended
    BubbleClass cause = BubbleClass::kLateStart;  ///< of the wait
  };
  int replica = 0;
  std::int32_t step = 0;
  std::vector<Link> links;  ///< in the order of time
};

/// The path of a step that the window of `pipeline` describes. `begin` of the first link may lie
/// before the window, where the path comes from the step before; that part is not counted.
StepPath criticalPathOf(const RunBasis& basis, const PipelineBasis& pipeline,
                        const BubbleWindow& window);

/// The time on critical paths, over steps.
struct PathShares {
  /// By kind as logs name them; "transfer" for messages, the class for waits. "before" is the part
  /// of a step whose reason is not in the run.
  std::map<std::string, Nanoseconds> byKind;
  std::map<std::int32_t, Nanoseconds> byStage;  ///< of compute jobs whose stage is known

  void add(const JobGraph& graph, const StepPath& path);
};

}  // namespace pipetrace
