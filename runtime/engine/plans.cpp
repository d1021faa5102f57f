// The plans of a strategy.
#include <algorithm>
#include <utility>

#include "runtime/engine/strategy.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_reader.h"
#include "schedule/forward_part.h"
#include "schedule/with_recompute.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

Plan onePipeline(const Strategy& strategy) {
  if (!strategy.scheduleFile.empty()) return readScheduleFile(strategy.scheduleFile);
  if (strategy.stageRanks.empty() && strategy.stageDepths.empty()) {
    return buildSchedule(strategy.schedule,
                         PlanSize{strategy.ranks, strategy.microBatches, strategy.chunks});
  }
  const StageMap map = stageMapOptions(strategy.stageRanks, strategy.stageDepths, strategy.ranks);
  return buildOnStageRanks(strategy.schedule, map.ranks, strategy.microBatches, map.depths);
}

/// Recomputes where the partition has them, unless the plan has some of its own.
Plan withRecomputesOf(Plan plan, const Strategy& strategy) {
  if (plan.hasRecomputes() || plan.isForwardOnly()) return plan;
  std::vector<bool> stages;
  for (int stage = 0; stage < plan.numStages; ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    const std::vector<double>& ratios = strategy.partition.recomputeRatio;
    stages.push_back((at < ratios.size() ? ratios[at] : strategy.recomputeRatio) > 0);
  }
  return withRecompute(plan, stages);
}

}  // namespace

CheckedPlan planOf(const Strategy& strategy) {
  Plan plan = withReplicas(onePipeline(strategy), strategy.replicas);
  if (strategy.buckets > 1) plan = withReductions(std::move(plan), strategy.buckets);
  return CheckedPlan(withRecomputesOf(*CheckedPlan(std::move(plan)), strategy));
}

CheckedPlan forwardsOf(const CheckedPlan& plan, int microBatches) {
  Plan part = forwardPart(*plan);
  const int before = part.microBatchesOfReplica();
  if (microBatches < 1 || microBatches > before) {
    throw Error("the plan " + plan->name + " has " + std::to_string(before) +
                " micro-batches in a replica, so " + std::to_string(microBatches) +
                " of them cannot be evaluated");
  }
  for (std::vector<Action>& actions : part.ranks) {
    std::erase_if(actions, [&](const Action& action) {
      return action.microBatch >= 0 && action.microBatch % before >= microBatches;
    });
    for (Action& action : actions) {
      if (action.microBatch < 0) continue;
      action.microBatch = action.microBatch / before * microBatches + action.microBatch % before;
    }
  }
  part.numMicroBatches = microBatches * part.replicas;
  return CheckedPlan(std::move(part));
}

Partition partitionOf(const Strategy& strategy, int blocks, int numStages) {
  if (strategy.partition.blocks.empty()) {
    Partition even = evenPartition(blocks, numStages);
    if (strategy.recomputeRatio > 0) {
      even.recomputeRatio.assign(static_cast<std::size_t>(numStages), strategy.recomputeRatio);
    }
    return even;
  }
  requireFits(strategy.partition, blocks, numStages);
  return strategy.partition;
}

}  // namespace pipetrace
