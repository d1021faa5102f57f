#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/interleaved_order.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

Plan forwardOnly(int ranks, int microBatches, int chunks) {
  Plan plan = loopedStages("ForwardOnly", ranks, microBatches, chunks);
  const InterleavedOrder order = interleavedOrder(ranks, microBatches, chunks);
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    for (const int chunk : order.chunkOfStep) row.forward(chunk);
  }
  // As many messages of a round as are more than ranks lie before the first rank until it comes to
  // its next chunk.
  plan.credits = 2 + (chunks > 1 ? std::max(0, order.firstRound - ranks) : 0);
  return plan;
}

}  // namespace pipetrace
