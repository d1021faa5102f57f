#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/interleaved_order.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Plan interleavedOneFOneB(int ranks, int microBatches, int chunks) {
  Plan plan = loopedStages("Interleaved1F1B", ranks, microBatches, chunks);
  const InterleavedOrder order = interleavedOrder(ranks, microBatches, chunks);
  const int steps = microBatches * chunks;
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    auto nextForward = order.chunkOfStep.begin();
    auto nextBackward = order.chunkOfStep.begin();
    const auto forward = [&] { row.forward(*nextForward++); };
    const auto backward = [&] { row.backward(chunks - 1 - *nextBackward++); };

    const int warmUp = std::min(steps, (chunks - 1) * order.firstRound + 2 * (ranks - 1 - rank));
    const int steady = steps - warmUp;
    const int coolDown = warmUp;
    for (int i = 0; i < warmUp; ++i) forward();
    for (int i = 0; i < steady; ++i) {
      forward();
      backward();
    }
    for (int i = 0; i < coolDown; ++i) backward();
  }
  return plan;
}

}  // namespace pipetrace
