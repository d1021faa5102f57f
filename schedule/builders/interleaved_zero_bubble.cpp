#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/interleaved_order.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Plan interleavedZeroBubble(int ranks, int microBatches, int chunks) {
  Plan plan = loopedStages("InterleavedZeroBubble", ranks, microBatches, chunks);
  const InterleavedOrder order = interleavedOrder(ranks, microBatches, chunks);
  const int steps = microBatches * chunks;
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    auto nextForward = order.chunkOfStep.begin();
    auto nextInput = order.chunkOfStep.begin();
    auto nextWeight = order.chunkOfStep.begin();
    const auto forward = [&] { row.forward(*nextForward++); };
    const auto backwardInput = [&] { row.backwardInput(chunks - 1 - *nextInput++); };
    const auto backwardWeight = [&] { row.backwardWeight(chunks - 1 - *nextWeight++); };

    const int warmUp = std::min(steps, (chunks - 1) * order.firstRound + (ranks - 1 - rank));
    const int weightLag = std::min(steps, rank);
    for (int i = 0; i < warmUp; ++i) forward();
    for (int i = 0; i < steps; ++i) {
      if (i < steps - warmUp) forward();
      backwardInput();
      if (i >= weightLag) backwardWeight();
    }
    for (int i = 0; i < weightLag; ++i) backwardWeight();
  }
  return plan;
}

}  // namespace pipetrace
