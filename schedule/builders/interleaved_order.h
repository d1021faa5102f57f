#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pipetrace {

/// The order of a rank's chunks in the interleaved schedules: rounds, each a series of
/// micro-batches on chunk 0, the same series on chunk 1, and so on.
struct InterleavedOrder {
  /// The chunk of the rank's n-th forward pass. The n-th backward pass is of chunk chunks - 1 -
  /// that.
  std::vector<int> chunkOfStep;
  int firstRound = 0;  ///< micro-batches of the first round, the largest
};

/// As many rounds of at least `ranks` micro-batches as there can be, at least one. Where the
/// micro-batches do not divide into them, the first ones have one more than the others: a round of
/// fewer than `ranks` would leave a bubble in the middle.
inline InterleavedOrder interleavedOrder(int ranks, int microBatches, int chunks) {
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
