#pragma once

#include <string>
#include <vector>

#include "analysis/plans/recognise_schedule.h"
#include "analysis/run/run.h"

namespace pipetrace {

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
