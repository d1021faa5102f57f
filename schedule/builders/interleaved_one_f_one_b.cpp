#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/interleaved_order.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Schedule interleavedOneFOneB(int ranks, int microBatches, int chunks) {
  Schedule schedule = loopedStages("Interleaved1F1B", ranks, microBatches, chunks);
  const InterleavedOrder order = interleavedOrder(ranks, microBatches, chunks);
  const int steps = microBatches * chunks;
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan plan(schedule, rank);
    auto nextForward = order.chunkOfStep.begin();
    auto nextBackward = order.chunkOfStep.begin();
    const auto forward = [&] { plan.forward(*nextForward++); };
    const auto backward = [&] { plan.backward(chunks - 1 - *nextBackward++); };

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
  return schedule;
}

}  // namespace pipetrace
