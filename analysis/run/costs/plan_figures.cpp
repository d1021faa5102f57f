#include "analysis/run/costs/plan_figures.h"

#include <algorithm>

#include "analysis/run/costs/given_costs.h"
#include "analysis/run_summary.h"
#include "schedule/check/weight_versions.h"
#include "trace/topology.h"

namespace pipetrace {

PlanFigures planFigures(const Plan& plan, const Simulation& simulation) {
  const RunSummary summary = summarize(simulation.timeline, topologyOf(simulation.timeline));
  PlanFigures figures{.length = simulation.length,
                      .bubbleRatio = summary.bubbleRatio,
                      .criticalPath = simulation.criticalPath};
  for (const StepSummary& step : summary.steps) figures.windows += step.window();
  figures.windows /= plan.replicas;
  if (!summary.steps.empty()) figures.spanBubble = summary.steps.front().spanBubble;
  for (const Simulation::Rank& rank : simulation.ranks) {
    figures.ranks.push_back({.peakActivations = rank.peakLive,
                             .peakMemory = rank.peakMemory,
                             .weightVersions = rank.versions});
  }
  for (const RankSummary& rank : summary.ranks) {
    PlanFigures::Rank& to = figures.ranks[static_cast<std::size_t>(rank.rank)];
    to.busy = rank.busy;
    to.idle = rank.idle;
    to.bubbleRatio = rank.bubbleRatio;
  }
  const WeightVersions versions = weightVersions(plan);
  const auto stages = plan.stagesByRank();
  for (std::size_t r = 0; r < stages.size(); ++r) {
    for (const int stage : stages[r]) {
      int& distance = figures.ranks[r].weightDistance;
      distance = std::max(distance, versions.stages[static_cast<std::size_t>(stage)].distance);
    }
  }
  return figures;
}

std::optional<ClosedForm> closedFormOf(std::string_view name, const PlanSize& size,
                                       const Costs& costs) {
  const bool isFree = costs.transfer == 0 && costs.bandwidth == 0 && costs.lr == 0 &&
                      costs.optimizer == 0 && costs.scalarAllReduce == 0 && costs.faults.empty();
  const GivenCosts given = givenCosts(costs);
  const auto isShared = [](const GivenCosts::Values& values) { return values.size() <= 1; };
  if (!isFree || costs.stages.empty() || !isShared(given.forward) || !isShared(given.backward) ||
      !isShared(given.backwardInput) || !isShared(given.backwardWeight) ||
      !isShared(given.forwardBackward) || !isShared(given.recompute) || !given.reduction.empty()) {
    return std::nullopt;
  }
  return closedForm(name, size, costs.stages.front());
}

}  // namespace pipetrace
