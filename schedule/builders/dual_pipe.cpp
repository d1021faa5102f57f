#include <algorithm>
#include <cstddef>

#include "schedule/builders/builders.h"
#include "schedule/builders/dual_pipe_steps.h"

namespace pipetrace {
namespace {

void addReversedPlacement(Schedule& schedule) {
  const auto& forward = schedule.rankOfStage;
  schedule.rankOfStageReversed.assign(forward.rbegin(), forward.rend());
  schedule.firstReversed = (schedule.numMicroBatches + 1) / 2;
}

Schedule evenDualPipe(int ranks, int microBatches) {
  Schedule schedule = oneStagePerRank("DualPipe", ranks, microBatches);
  addReversedPlacement(schedule);
  const int half = ranks / 2;
  const int planned = std::max(schedule.firstReversed, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan plan(schedule, rank, planned);
    const bool secondHalf = rank >= half;
    const DualPipeSize size{
        .depth = half, .position = std::min(rank, ranks - 1 - rank), .microBatches = planned};
    addDualPipeSteps(plan, size, secondHalf ? 1 : 0, secondHalf ? 0 : 1);
  }
  return schedule;
}

/// Takes one of the middle ranks out of an even plan, and with it, in each direction, the stage
/// that it ran: whatever could run before can run without it.
Schedule withoutMiddleRank(const Schedule& even) {
  const int ranks = even.numRanks() - 1;
  const int dropped = even.numRanks() / 2;
  Schedule schedule = oneStagePerRank("DualPipe", ranks, even.numMicroBatches);
  addReversedPlacement(schedule);
  const auto stageOf = [&](int stage, int microBatch) {
    const bool reversed = microBatch >= even.firstReversed;
    const int gone = reversed ? even.numStages - 1 - dropped : dropped;
    return stage > gone ? stage - 1 : stage;
  };
  for (int rank = 0; rank < ranks; ++rank) {
    auto& row = schedule.ranks[static_cast<std::size_t>(rank)];
    row = even.ranks[static_cast<std::size_t>(rank < dropped ? rank : rank + 1)];
    for (Action& action : row) {
      action.stage = stageOf(action.stage, action.microBatch);
      if (action.backwardStage < 0) continue;
      action.backwardStage = stageOf(action.backwardStage, action.backwardMicroBatch);
    }
  }
  return schedule;
}

}  // namespace

Schedule dualPipe(int ranks, int microBatches) {
  requirePlanSize("DualPipe", ranks, microBatches, 1);
  if (ranks % 2 == 0) return evenDualPipe(ranks, microBatches);
  return withoutMiddleRank(evenDualPipe(ranks + 1, microBatches));
}

}  // namespace pipetrace
