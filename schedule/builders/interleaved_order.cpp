#include "schedule/builders/interleaved_order.h"

#include <algorithm>
#include <cstddef>

namespace pipetrace {

InterleavedOrder interleavedOrder(int ranks, int microBatches, int chunks) {
  const int rounds = std::max(1, microBatches / ranks);
  const int least = microBatches / rounds;
  const int larger = microBatches % rounds;
  InterleavedOrder order;
  order.firstRound = least + (larger > 0 ? 1 : 0);
  order.chunkOfStep.reserve(static_cast<std::size_t>(microBatches) *
                            static_cast<std::size_t>(chunks));
  for (int round = 0; round < rounds; ++round) {
    const auto size = static_cast<std::size_t>(least + (round < larger ? 1 : 0));
    for (int chunk = 0; chunk < chunks; ++chunk) {
      order.chunkOfStep.insert(order.chunkOfStep.end(), size, chunk);
    }
  }
  return order;
}

}  // namespace pipetrace
