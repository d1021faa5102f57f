#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Schedule zbH1(int ranks, int microBatches) {
  Schedule schedule = oneStagePerRank("ZB-H1", ranks, microBatches);
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan plan(schedule, rank);
    const int warmUp = std::min(microBatches, ranks - 1 - rank);
    // W follows `rank` micro-batches behind, so that every rank holds as many as the first does.
    const int weightLag = std::min(microBatches, rank);
    for (int i = 0; i < warmUp; ++i) plan.forward();
    for (int i = 0; i < microBatches; ++i) {
      if (i < microBatches - warmUp) plan.forward();
      plan.backwardInput();
      if (i >= weightLag) plan.backwardWeight();
    }
    for (int i = 0; i < weightLag; ++i) plan.backwardWeight();
  }
  return schedule;
}

}  // namespace pipetrace
