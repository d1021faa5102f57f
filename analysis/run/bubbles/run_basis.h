#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "analysis/run/bubbles/binding_paths.h"
#include "analysis/run/bubbles/step_tail.h"
#include "analysis/run/graph/median_durations.h"
#include "analysis/run/graph/step_jobs.h"
#include "analysis/run/steps/interval.h"
#include "analysis/run_summary.h"

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

/// A step of a pipeline, and the jobs that end it.
struct BubbleWindow {
  Interval span;
  std::int32_t step = 0;
  std::size_t index = 0;                        ///< of the step in StepJobs
  JobGraph::Id firstCompute = JobGraph::kNone;  ///< the compute job that began first
  JobGraph::Id lastCompute = JobGraph::kNone;   ///< the one that ended last
  JobGraph::Id last = JobGraph::kNone;          ///< the compute job or optimizer that did
  StepTail tail;                                ///< from the one's end to the other's
  bool isWhole = true;                          ///< false: jobs of the step are missing
  bool isWholeRun = false;                      ///< as of StepWindow
  bool lacksRanks = false;                      ///< jobs need data of ranks that are missing
  bool hasPlan = true;                          ///< false: nobody knows the schedule's own share
  Nanoseconds ownLength = 0;                    ///< PlannedIdle::ownLength()
};

/// A pipeline as the analyses need it.
struct PipelineBasis {
  /// Finds its jobs; RunBasis does the rest. `begins`: as of StepJobs.
  PipelineBasis(const JobGraph& graph, std::size_t pipeline, std::vector<std::int32_t> begins,
                int threads = 1);

  /// The last window of a whole step, else the last. There must be one.
  const BubbleWindow& lastWholeWindow() const;

  int replica = 0;
  StepJobs jobs;
  std::unique_ptr<PlannedIdle> planned;  ///< null after RunBasis::freeTables()
  std::vector<BubbleWindow> windows;     ///< in order, without overlap
};

/// A run as the analyses need it. Made once, then read by several threads.
class RunBasis {
 public:
  /// `graph` must outlive it; `summary` is that of the graph's timeline.
  RunBasis(const JobGraph& graph, const RunSummary& summary, int threads = 1);

  /// Gives pipelines that lack ranks the plan of the schedule that their other ranks followed, if
  /// one is recognised. All its jobs of a kind are equally long, as PlannedIdle has them.
  /// `timeline` and `topology` are those of the graph. Jobs in parts have no such plan, nor have
  /// runs that recompute for some backward passes only.
  void planMissingRanks(const Timeline& timeline, const Topology& topology, int threads = 1);

  /// Frees what only classifyBubbles() needs. Nobody may use the basis meanwhile.
  void freeTables();

  const JobGraph& graph() const { return graph_; }
  const MedianDurations& times() const { return times_; }
  const BindingPaths& paths() const { return paths_; }
  const std::vector<PipelineBasis>& pipelines() const { return pipelines_; }
  /// That of a job which the tail of a window waits for, or of the last compute job of such a
  /// window. Not after freeTables().
  const WaitPath& waitPath(JobGraph::Id job) const { return waitPaths_.at(job); }

 private:
  void addWaitPaths();

  const JobGraph& graph_;
  MedianDurations times_;
  BindingPaths paths_;
  std::vector<PipelineBasis> pipelines_;
  std::unordered_map<JobGraph::Id, WaitPath> waitPaths_;
};

}  // namespace pipetrace
