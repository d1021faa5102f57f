#include "schedule/builders/builders.h"
#include "schedule/builders/building_block.h"
#include "schedule/builders/squeeze.h"

namespace pipetrace {

Schedule zbH2(int ranks, int microBatches) {
  const Schedule empty = oneStagePerRank("ZB-H2", ranks, microBatches);
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
