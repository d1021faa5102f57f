#pragma once

#include <vector>

#include "analysis/graph/step_jobs.h"

namespace pipetrace {

/// A step's compute jobs as they would run in the order that they had: each as soon as its rank is
/// free and its inputs from other ranks are made. Messages take no time, and ranks do nothing else.
class OrderTimes {
 public:
  /// Both must outlive it.
  OrderTimes(const JobGraph& graph, const StepJobs& jobs);

  /// Runs the step (its index), with the durations that `durationOf(job)` gives. All ranks begin
  /// at 0. `visit(job, begin, idle)` is called for each job, rank by rank in order but ranks mixed:
  /// `idle` is the rank's time since its job before, or since 0.
  ///
  /// Inputs that contradict the orders are left out: of the jobs that wait the one that really
  /// began first goes on.
  template <typename DurationOf, typename Visit>
  void run(std::size_t step, const DurationOf& durationOf, const Visit& visit) {
    start(step);
    while (!isDone_) {
      const Head head = next();
      if (isDone_) break;
      const Nanoseconds begin = ready_;
      const Nanoseconds idle = begin - free_[head.position];
      finish(head, begin + durationOf(head.job));
      visit(head.job, begin, idle);
    }
  }

  /// When the last job of the last run() ended, of all ranks.
  Nanoseconds length() const;
  /// When the last job of a rank ended in the last run(); 0 for a rank without jobs.
  Nanoseconds end(std::size_t position) const { return free_[position]; }

 private:
  struct Head {
    std::size_t position = 0;
    JobGraph::Id job = 0;
  };

  void start(std::size_t step);
  Head next();
  void finish(const Head& head, Nanoseconds end);
  std::size_t near(std::size_t tries) const;
  bool isReady(std::size_t position, JobGraph::Id job);

  const JobGraph& graph_;
  const StepJobs& jobs_;
  std::size_t step_ = 0;
  std::size_t position_ = 0;  // of the last job
  bool isDone_ = true;
  Nanoseconds ready_ = 0;
  std::vector<std::size_t> at_;    // by position
  std::vector<Nanoseconds> free_;  // by position
  std::vector<Nanoseconds> ends_;  // by job, −1: not run
  JobGraph::Id firstJob_ = 0;
};

}  // namespace pipetrace
