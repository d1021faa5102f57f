#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Schedule oneFOneB(int ranks, int microBatches) {
  Schedule schedule = oneStagePerRank("1F1B", ranks, microBatches);
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan plan(schedule, rank);
    const int warmUp = std::min(microBatches, ranks - 1 - rank);
    const int steady = microBatches - warmUp;
    const int coolDown = warmUp;
    for (int i = 0; i < warmUp; ++i) plan.forward();
    for (int i = 0; i < steady; ++i) {
      plan.forward();
      plan.backward();
    }
    for (int i = 0; i < coolDown; ++i) plan.backward();
  }
  return schedule;
}

}  // namespace pipetrace
