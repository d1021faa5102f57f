#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/building_block.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/squeeze.h"

namespace pipetrace {

Plan zbH1(int ranks, int microBatches) {
  Plan plan = oneStagePerRank("ZB-H1", ranks, microBatches);
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    const int warmUp = std::min(microBatches, ranks - 1 - rank);
    // W follows `rank` micro-batches later, so that every rank holds as many as the first does.
    const int weightLag = std::min(microBatches, rank);
    for (int i = 0; i < warmUp; ++i) row.forward();
    for (int i = 0; i < microBatches; ++i) {
      if (i < microBatches - warmUp) row.forward();
      row.backwardInput();
      if (i >= weightLag) row.backwardWeight();
    }
    for (int i = 0; i < weightLag; ++i) row.backwardWeight();
  }
  return plan;
}

Plan zbH2(int ranks, int microBatches) {
  const Plan empty = oneStagePerRank("ZB-H2", ranks, microBatches);
  // Rank s has 2 (p - s) - 1 forwards before its first input half, so that none waits.
  BuildingBlock block{.interval = 3};
  for (int s = 0; s < ranks; ++s) {
    block.forward.push_back(2 * s);
    block.backwardInput.push_back(2 * ranks - 1 + 4 * (ranks - 1 - s));
  }
  const std::int64_t peak = 2 * ranks - 1;
  return *squeeze(repeat(empty, block), Costs::equal(ranks, {1, 2, 1, 1}),
                  {.limits = std::vector<std::int64_t>(empty.ranks.size(), peak)});
}

}  // namespace pipetrace
