#include "analysis/plans/run_plan.h"

#include <utility>

#include "analysis/plans/measured_plan.h"
#include "analysis/plans/shared_stages.h"
#include "analysis/steps/counted_steps.h"
#include "analysis/steps/median_step.h"
#include "trace/step_windows.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

constexpr int kMostTries = 16;

/// The steps of the first pipeline, of the phase that counts, the last one first.
std::vector<StepWindow> lastStepsOf(const Timeline& timeline) {
  std::vector<StepWindow> steps;
  const Phase phase = countedPhaseOf(timeline);
  const std::vector<StepWindow> windows = stepWindows(timeline);
  for (auto window = windows.rbegin(); window != windows.rend(); ++window) {
    const bool isWanted = window->phase == phase && window->replica == windows.front().replica;
    if (isWanted && steps.size() < kMostTries) steps.push_back(*window);
  }
  return steps;
}

Nanoseconds stepOf(const Timeline& timeline) {
  const MedianStep step = medianStepOf(timeline, countedStepsOf(timeline));
  return step.isWholeRun ? 0 : step.window;
}

}  // namespace

RunPlan planOfRun(const Timeline& timeline) {
  const Topology topology = topologyOf(timeline);
  MeasuredPlan best;
  best.problem = "it has no step with compute jobs";
  bool isFirst = true;
  for (const StepWindow& step : lastStepsOf(timeline)) {
    MeasuredPlan measured = measuredPlan(timeline, topology, step.replica, step.step);
    const bool isWhole = measured.isWhole();
    if (isFirst || isWhole) best = std::move(measured);
    if (isWhole) break;
    isFirst = false;
  }
  RunPlan run{.problem = best.problem};
  if (!best.exists()) return run;
  run.ranks = best.plan.numRanks();
  run.stages = best.plan.numStages;
  run.microBatches = best.plan.numMicroBatches;
  if (hasSharedStages(best.plan)) run.ranksOfStage = best.plan.placement.ranksOfStage;
  run.step = stepOf(timeline);
  run.schedule = recogniseSchedule(best.plan);
  return run;
}

}  // namespace pipetrace
