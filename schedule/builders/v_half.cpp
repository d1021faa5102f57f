#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/building_block.h"
#include "schedule/builders/squeeze.h"

namespace pipetrace {

Schedule vHalf(int ranks, int microBatches) {
  const Schedule empty = vShapedStages("V-Half", ranks, microBatches);
  const int stages = empty.numStages;
  // Forwards of the first chunk go down at half speed, as input halves of the second do; the way
  // back is at full speed. With an even number of ranks the two would meet in one slot.
  const int gap = ranks % 2 == 0 ? 3 : 0;
  BuildingBlock block{std::vector<std::int64_t>(static_cast<std::size_t>(stages)),
                      std::vector<std::int64_t>(static_cast<std::size_t>(stages)), 6};
  for (int r = 0; r < ranks; ++r) {
    const auto first = static_cast<std::size_t>(r);
    const auto second = static_cast<std::size_t>(stages - 1 - r);
    block.forward[first] = 2 * r;
    block.forward[second] = 3 * ranks - 2 - r;
    block.backwardInput[second] = 3 * ranks - 1 + gap + 2 * r;
    block.backwardInput[first] = 6 * ranks - 2 + gap - r;
  }
  SqueezeOptions options;
  for (int r = 0; r < ranks; ++r) {
    // The block's own peak. Where micro-batches are few, rank r keeps to the one that the squeezed
    // block without any overtaking would have.
    const int peak = std::min(2 * (ranks / 2 + 1), microBatches + 1 + r);
    options.limits.push_back(peak);
  }
  return *squeeze(repeat(empty, block), Costs::equal(stages, {1, 2, 1, 1}), options);
}

}  // namespace pipetrace
