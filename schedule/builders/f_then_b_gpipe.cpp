#include "schedule/builders/builders.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Plan fThenB(int ranks, int microBatches) {
  Plan plan = oneStagePerRank("FThenB", ranks, microBatches);
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    for (int m = 0; m < microBatches; ++m) row.forward();
    for (int m = 0; m < microBatches; ++m) row.backward();
  }
  return plan;
}

Plan gPipe(int ranks, int microBatches) {
  Plan plan = oneStagePerRank("GPipe", ranks, microBatches);
  for (int stage = 0; stage < ranks; ++stage) {
    auto& actions = plan.ranks[static_cast<std::size_t>(stage)];
    for (int m = 0; m < microBatches; ++m) actions.push_back({JobKind::kForward, stage, m});
    for (int m = microBatches - 1; m >= 0; --m) actions.push_back({JobKind::kBackward, stage, m});
  }
  return plan;
}

}  // namespace pipetrace
