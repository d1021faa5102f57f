#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/run/bubbles/bubbles.h"
#include "analysis/run/followed_schedule.h"
#include "analysis/run/plans/recognise_schedule.h"
#include "analysis/run/steps/counted_steps.h"
#include "analysis/run/steps/interval.h"
#include "analysis/run_summary.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// A run as it is written and drawn: its timeline, with lanes of bubbles or without, and its
/// figures.
struct ReadyRun {
  Timeline timeline;
  RunSummary summary;
};

/// The lanes of bubbles of a ReadyRun.
enum class BubbleChoice : std::uint8_t {
  kFound,   ///< those of the analysis, in place of older ones
  kNone,    ///< none
  kAsRead,  ///< those that the timeline came with
};

/// A run: what happened, who is where, and what follows from it. It is made once (loadRun()); what
/// looks at a run takes a `const Run&` and nothing else of it.
///
/// Each part is made when it is first asked for, once, on threads() threads. Several threads may
/// ask at once. References to parts, and to events, stay valid while the run lives, also when it is
/// moved. Functions that are not const need it for themselves.
class Run {
 public:
  /// One without any event.
  Run() : Run(Timeline()) {}
  /// `timeline`: completed (completeTimeline()). `threads`: 0 for one per core; they make no
  /// difference to any part.
  explicit Run(Timeline timeline, int threads = 1);
  Run(Run&& other) noexcept;
  Run& operator=(Run&& other) noexcept;
  ~Run();

  const Timeline& timeline() const;
  int threads() const;
  const Topology& topology() const;
  /// The steps, and the figures of steps and ranks.
  const RunSummary& summary() const;
  const JobGraph& graph() const;
  /// The windows, the medians of jobs, the paths of waits. Pipelines that lack ranks have the plan
  /// of the schedule that the others followed (RunBasis::planMissingRanks()).
  const RunBasis& basis() const;
  /// The idle time of all steps with its classes, causes and culprits.
  const Bubbles& bubbles() const;
  const FollowedSchedule& schedule() const;

  /// The steps that findings are about. `chosen`: as of CountedSteps.
  CountedSteps countedSteps(std::vector<NumberRange> chosen = {}) const;
  /// The steps that say what a step usually takes: whole ones where there are any, by the jobs and
  /// the optimizers that incompleteSteps() misses.
  CountedSteps usualSteps(std::vector<NumberRange> chosen = {}) const;

  /// From now on asking for a part that is not there yet throws Error once a stop is requested.
  void endWhen(std::stop_token stop);
  /// Throws Error if a stop was requested. Long work on a run calls it now and then.
  void requireWanted() const;
  void useThreads(int threads);

  /// Frees what paths of waits and planned idle time need (RunBasis::freeTables()). Before that all
  /// bubbles and explanations must be there.
  void freeTables();
  /// Frees all parts. Those that are asked for again are made again.
  void letGo();

  /// Adds the lanes that bubbleLanes() made of it to the timeline. Events stay where they are.
  void join(BubbleLanes lanes);
  BubbleLanes bubbleLanes() const;
  /// Gives the run up for its timeline, as it is.
  Timeline takeTimeline() &&;
  /// Gives the run up for what is written and drawn of it, and frees its parts on the way.
  ReadyRun ready(BubbleChoice bubbles) &&;

  /// How many parts have been made so far, each time counted.
  int partsMade() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The size and the schedule of a run, as one pipeline of it shows them.
struct RunPlan {
  int ranks = 0;  ///< 0: there is no plan, and `problem` says why
  int stages = 0;
  int microBatches = 0;
  RecognisedSchedule schedule;
  /// Where ranks take turns at the micro-batches of a stage: the ranks of each, counted in their
  /// pipeline. Else empty.
  std::vector<std::vector<int>> ranksOfStage;
  /// MedianStep::window; 0: steps of the run have no end of their own.
  Nanoseconds step = 0;
  std::string problem;  ///< as MeasuredPlan::problem

  bool exists() const { return ranks > 0; }
};

/// Looks at the last step of the first pipeline that has all its work, or at the last one where no
/// step of the last sixteen has.
RunPlan planOfRun(const Run& run);

}  // namespace pipetrace
