#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/run/run.h"
#include "schedule/check/checked_plan.h"
#include "schedule/comm_streams.h"
#include "schedule/costs.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The length and bubble ratio of a step of all replicas, or of most steps, beside what was
/// planned.
struct ComparedStep {
  Nanoseconds measuredStep = 0;
  Nanoseconds plannedStep = 0;
  double measuredBubble = 0;
  double plannedBubble = 0;

  /// measured / planned - 1; infinite for a step that was planned to take no time and took some.
  double stepDeviation() const;
  /// measured - planned: a share of the step's window. It is not relative to the planned ratio,
  /// which is near 0 for a good schedule.
  double bubbleDifference() const;
};

/// A run compared with the simulation of the plan that it should have followed.
struct PlanComparison {
  /// The steps with the figures of `median`, those of `apart` not counted.
  int steps = 0;
  /// Medians over these steps (even count: mean of the middle two). Means nothing without any.
  ComparedStep median;
  /// By number: steps with a planted fault of their own, and steps that are planned to take another
  /// time than those without, as the faults hold them up. Empty without such faults.
  std::map<int, ComparedStep> apart;
  /// The deviation of the step that is off most, of all steps.
  double worstStep = 0;
  std::int64_t lateStarts = 0;
  /// The first job that ran out of the plan's order ("rank 1, step 0: 1B0 ran where the plan has
  /// 1F3"); empty: every rank ran its plan.
  std::string orderDeviation;

  /// Same order, and both at most `tolerance` either way, in all steps.
  bool agrees(double tolerance = 0.01) const { return findings(tolerance).empty(); }
  /// The differences that are too large, a line for people each, without newlines.
  std::vector<std::string> findings(double tolerance = 0.01) const;
};

/// `run` must be completed (completeTimeline). Throws Error if it holds no step, and as simulate()
/// does.
PlanComparison compareWithPlan(const Run& run, const CheckedPlan& plan, const Costs& costs,
                               CommStreams commStreams = CommStreams::kAsReached);

/// For people, with a newline at the end of each line.
std::string toText(const PlanComparison& comparison);

}  // namespace pipetrace
