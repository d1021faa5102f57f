#pragma once

#include <vector>

#include "analysis/graph/median_durations.h"
#include "analysis/graph/step_jobs.h"

namespace pipetrace {

/// The idle time that the schedule itself has, the plan of docs/metrics.md: the order that the jobs
/// of each rank had, all jobs of one kind equally long, messages free.
class PlannedIdle {
 public:
  using Id = JobGraph::Id;

  /// All must outlive it. Uses that many threads, which makes no difference to the result.
  PlannedIdle(const JobGraph& graph, const StepJobs& jobs, const MedianDurations& times,
              int threads = 1);

  /// The rank's idle time right before a compute job; before its step's first one since the plan's
  /// start. 0 for a job without a step.
  Nanoseconds before(Id job) const { return before_[job - firstJob_]; }
  /// From the last job of the rank at `position` in a step to the plan's end. 0 where it has none.
  Nanoseconds after(std::int32_t step, std::size_t position) const;

  /// The length of a step's own order (by its index), run with what the jobs of each stage and kind
  /// usually take, messages free.
  Nanoseconds ownLength(std::size_t step) const { return ownLengths_[step]; }

  /// For steps whose plan is another one.
  void setBefore(Id job, Nanoseconds idle) { before_[job - firstJob_] = idle; }
  void setAfter(std::size_t step, std::size_t position, Nanoseconds idle) {
    after_[step * jobs_.rankCount() + position] = idle;
  }

 private:
  void planStep(const JobGraph& graph, const MedianDurations& times, std::size_t step);

  const StepJobs& jobs_;
  Id firstJob_ = 0;
  std::vector<Nanoseconds> before_;      // by job
  std::vector<Nanoseconds> after_;       // by step and position
  std::vector<Nanoseconds> ownLengths_;  // by step
};

}  // namespace pipetrace
