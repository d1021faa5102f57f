#include "analysis/plan_figures.h"

#include <algorithm>

#include "analysis/run_summary.h"
#include "schedule/dry_run.h"
#include "schedule/weight_versions.h"

namespace pipetrace {

PlanFigures planFigures(const Schedule& schedule, const Costs& costs,
                        const Simulation& simulation) {
  const RunSummary summary = summarize(simulation.timeline);
  const DryRun dry = dryRun(schedule, costs);
  const WeightVersions versions = weightVersions(schedule);

  PlanFigures figures{.length = simulation.length, .bubbleRatio = summary.bubbleRatio};
  if (!summary.steps.empty()) figures.spanBubble = summary.steps.front().spanBubble;
  figures.ranks.resize(schedule.ranks.size());
  for (const RankSummary& rank : summary.ranks) {
    PlanFigures::Rank& to = figures.ranks[static_cast<std::size_t>(rank.rank)];
    to.busy = rank.busy;
    to.idle = rank.idle;
    to.bubbleRatio = rank.bubbleRatio;
  }
  for (std::size_t r = 0; r < figures.ranks.size(); ++r) {
    PlanFigures::Rank& to = figures.ranks[r];
    to.peakActivations = dry.ranks[r].peakLive;
    to.peakMemory = dry.ranks[r].peakMemory;
    for (const int stage : schedule.stagesOfRank(static_cast<int>(r))) {
      to.weightVersions =
          std::max(to.weightVersions, versions.stages[static_cast<std::size_t>(stage)].held);
    }
  }
  return figures;
}

}  // namespace pipetrace
