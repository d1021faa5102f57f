#include <algorithm>
#include <cstddef>

#include "schedule/builders/builders.h"
#include "schedule/builders/dual_pipe_steps.h"
#include "schedule/builders/placements.h"

namespace pipetrace {
namespace {

void addReversedPlacement(Plan& plan) {
  const int last = plan.numStages - 1;
  for (int s = 0; s <= last; ++s)
    plan.placement.ranksOfStage[static_cast<std::size_t>(s)] = {s, last - s};
  plan.placement.run = (plan.numMicroBatches + 1) / 2;
}

Plan evenDualPipe(int ranks, int microBatches) {
  Plan plan = oneStagePerRank("DualPipe", ranks, microBatches);
  addReversedPlacement(plan);
  const int half = ranks / 2;
  const int planned = std::max(plan.placement.run, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank, planned);
    const bool secondHalf = rank >= half;
    const DualPipeSize size{
        .depth = half, .position = std::min(rank, ranks - 1 - rank), .microBatches = planned};
    addDualPipeSteps(row, size, secondHalf ? 1 : 0, secondHalf ? 0 : 1);
  }
  return plan;
}

/// Takes one of the middle ranks out of an even plan, and with it, in each direction, the stage
/// that it ran. A plan that could run before can run without it.
Plan withoutMiddleRank(const Plan& even) {
  const int ranks = even.numRanks() - 1;
  const int dropped = even.numRanks() / 2;
  Plan plan = oneStagePerRank("DualPipe", ranks, even.numMicroBatches);
  addReversedPlacement(plan);
  const auto stageOf = [&](int stage, int microBatch) {
    const bool reversed = microBatch >= even.placement.run;
    const int gone = reversed ? even.numStages - 1 - dropped : dropped;
    return stage > gone ? stage - 1 : stage;
  };
  for (int rank = 0; rank < ranks; ++rank) {
    auto& row = plan.ranks[static_cast<std::size_t>(rank)];
    row = even.ranks[static_cast<std::size_t>(rank < dropped ? rank : rank + 1)];
    for (Action& action : row) {
      action.stage = stageOf(action.stage, action.microBatch);
      if (action.backwardStage < 0) continue;
      action.backwardStage = stageOf(action.backwardStage, action.backwardMicroBatch);
    }
  }
  return plan;
}

}  // namespace

Plan dualPipe(int ranks, int microBatches) {
  requirePlanSize("DualPipe", ranks, microBatches, 1);
  if (ranks % 2 == 0) return evenDualPipe(ranks, microBatches);
  return withoutMiddleRank(evenDualPipe(ranks + 1, microBatches));
}

Plan dualPipeV(int ranks, int microBatches) {
  Plan plan = vShapedStages("DualPipeV", ranks, microBatches);
  const int planned = std::max(microBatches, 2 * ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank, planned);
    const DualPipeSize size{.depth = ranks, .position = rank, .microBatches = planned};
    addDualPipeSteps(row, size, 0, 1);
  }
  return plan;
}

}  // namespace pipetrace
