#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Plan oneFOneB(int ranks, int microBatches) {
  Plan plan = oneStagePerRank("1F1B", ranks, microBatches);
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    const int warmUp = std::min(microBatches, ranks - 1 - rank);
    const int steady = microBatches - warmUp;
    const int coolDown = warmUp;
    for (int i = 0; i < warmUp; ++i) row.forward();
    for (int i = 0; i < steady; ++i) {
      row.forward();
      row.backward();
    }
    for (int i = 0; i < coolDown; ++i) row.backward();
  }
  return plan;
}

Plan eagerOneFOneB(int ranks, int microBatches) {
  Plan plan = oneStagePerRank("Eager1F1B", ranks, microBatches);
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    const int warmUp = std::min(microBatches, 2 * (ranks - 1 - rank) + 1);
    const int steady = microBatches - warmUp;
    const int coolDown = warmUp;
    for (int i = 0; i < warmUp; ++i) row.forward();
    for (int i = 0; i < steady; ++i) {
      row.backward();
      row.forward();
    }
    for (int i = 0; i < coolDown; ++i) row.backward();
  }
  return plan;
}

}  // namespace pipetrace
