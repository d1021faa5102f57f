#include "analysis/run/run_plan.h"

#include <algorithm>
#include <utility>

#include "analysis/plans/measured_plan.h"
#include "analysis/plans/shared_stages.h"
#include "analysis/steps/median_step.h"

namespace pipetrace {
namespace {

constexpr int kMostTries = 16;

/// The steps of the first pipeline, the last one first.
std::vector<StepWindow> lastStepsOf(const RunSummary& summary) {
  std::vector<StepWindow> steps;
  if (summary.steps.empty()) return steps;
  int first = summary.steps.front().replica;
  if (!summary.otherSteps.empty()) first = std::min(first, summary.otherSteps.front().replica);
  for (auto step = summary.steps.rbegin(); step != summary.steps.rend(); ++step) {
    const bool isWanted = step->replica == first && step->step != kNotGiven;
    if (isWanted && steps.size() < kMostTries) steps.push_back(*step);
  }
  return steps;
}

Nanoseconds stepOf(const Run& run) {
  const MedianStep step = medianStepOf(run.timeline(), run.topology(), run.usualSteps());
  return step.isWholeRun ? 0 : step.window;
}

}  // namespace

RunPlan planOfRun(const Run& run) {
  MeasuredPlan best;
  best.problem = "it has no step with compute jobs";
  bool isFirst = true;
  for (const StepWindow& step : lastStepsOf(run.summary())) {
    MeasuredPlan measured = measuredPlan(run.timeline(), run.topology(), step.replica, step.step);
    const bool isWhole = measured.isWhole();
    if (isFirst || isWhole) best = std::move(measured);
    if (isWhole) break;
    isFirst = false;
  }
  RunPlan plan{.problem = best.problem};
  if (!best.exists()) return plan;
  plan.ranks = best.plan.numRanks();
  plan.stages = best.plan.numStages;
  plan.microBatches = best.plan.numMicroBatches;
  if (hasSharedStages(best.plan)) plan.ranksOfStage = best.plan.placement.ranksOfStage;
  plan.step = stepOf(run);
  plan.schedule = recogniseSchedule(best.plan);
  return plan;
}

}  // namespace pipetrace
