#include <algorithm>
#include <numeric>

#include "schedule/builders/placements.h"
#include "schedule/builders/schedules.h"
#include "schedule/builders/stage_ranks.h"

namespace pipetrace {
namespace {

// Weights change after every backward pass. Stage s keeps n = p - s versions of them once the
// pipeline has been full for long enough, which takes m = 2 n - 2 micro-batches. With fewer
// micro-batches (m > 1) it keeps max(m - n, 0) + 2 versions. Source: Narayanan et al. 2019,
// "PipeDream: Generalized Pipeline Parallelism".
Plan pipeDream(const PlanSize& size) {
  // The start-up phase admits as many micro-batches as there are stages to come. Then backward and
  // forward passes alternate: 1F1B without its flush.
  Plan plan = schedules::kOneFOneB.build(size);
  plan.name = schedules::kPipeDream.name;
  plan.updates = WeightUpdates::alike(size.ranks, 1);
  return plan;
}

/// An update of a stage takes a micro-batch of each of its ranks, as in PipeDream's runtime, where
/// LibTorch's DistributedDataParallel takes the mean over them.
Plan pipeDreamOnStageRanks(const StageMap& map, int microBatches) {
  Plan plan = onStageRanks(OrderOfRow::kOneFOneB, schedules::kPipeDream, map, microBatches);
  for (const std::vector<int>& ranks : map.ranks) {
    plan.updates.every.push_back(static_cast<int>(ranks.size()));
  }
  return plan;
}

// Weights change every p micro-batches, and after the last one where that leaves a rest. With fewer
// micro-batches than ranks they change after all of them. Source: Narayanan et al. 2021,
// PipeDream-2BW.
Plan pipeDream2bw(const PlanSize& size) {
  Plan plan = schedules::kOneFOneB.build(size);
  plan.name = schedules::kPipeDream2bw.name;
  // At least as many as there are stages, or a third version would be in use.
  plan.updates = WeightUpdates::alike(size.ranks, std::min(size.ranks, size.microBatches), true);
  return plan;
}

/// All stages have the same groups: at least as many micro-batches as there are ranks, and as many
/// for each rank of a stage.
Plan pipeDream2bwOnStageRanks(const StageMap& map, int microBatches) {
  Plan plan = onStageRanks(OrderOfRow::kOneFOneB, schedules::kPipeDream2bw, map, microBatches);
  int multiple = 1;
  for (const std::vector<int>& ranks : map.ranks) {
    multiple = std::lcm(multiple, static_cast<int>(ranks.size()));
  }
  const int least = std::min(plan.numRanks(), microBatches);
  const int every = (least + multiple - 1) / multiple * multiple;
  plan.updates = WeightUpdates::alike(plan.numStages, every, /*doubleBuffered=*/true);
  return plan;
}

/// As 1F1B.
std::optional<ClosedForm> formOfPipeDream(const FormInput& given) {
  return schedules::kOneFOneB.closedForm(given);
}

}  // namespace

const ScheduleInfo schedules::kPipeDream = complete({
    .name = "PipeDream",
    .aliases = "Async1F1B, Async-1F1B",
    .summary = "1F1B without a flush, weights change after every backward pass",
    .isAsynchronous = true,
    .build = pipeDream,
    .onStageRanks = pipeDreamOnStageRanks,
    .takesDepths = true,
    .closedForm = formOfPipeDream,
    .formHasRecompute = true,
    .chunkedKin = &schedules::kInterleavedOneFOneB,
    .ofChunkedKin = ", which flushes",
});

const ScheduleInfo schedules::kPipeDream2bw = complete({
    .name = "PipeDream-2BW",
    .aliases = "2BW",
    .summary = "1F1B without a flush, two versions of the weights",
    .isAsynchronous = true,
    .build = pipeDream2bw,
    .onStageRanks = pipeDream2bwOnStageRanks,
    .takesDepths = true,
    .closedForm = formOfPipeDream,
    .formHasRecompute = true,
    .chunkedKin = &schedules::kInterleavedOneFOneB,
    .ofChunkedKin = ", which flushes",
});

}  // namespace pipetrace
