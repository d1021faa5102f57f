#include "schedule/builders/builders.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Schedule fThenB(int ranks, int microBatches) {
  Schedule schedule = oneStagePerRank("FThenB", ranks, microBatches);
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan plan(schedule, rank);
    for (int m = 0; m < microBatches; ++m) plan.forward();
    for (int m = 0; m < microBatches; ++m) plan.backward();
  }
  return schedule;
}

}  // namespace pipetrace
