#pragma once

#include <vector>

namespace pipetrace {

/// In which order a rank's chunks come in the interleaved schedules: in rounds, each a run of
/// micro-batches on chunk 0, the same run on chunk 1, and so on.
struct InterleavedOrder {
  /// Of the n-th forward pass of a rank; the n-th backward pass is of chunk chunks - 1 - that.
  std::vector<int> chunkOfStep;
  int firstRound = 0;  ///< micro-batches of the first round, the largest
};

/// As many rounds of at least `ranks` micro-batches as there can be, at least one. Where the
/// micro-batches do not divide into them, the first ones have one more than the others: a round of
/// fewer than `ranks` would leave a bubble in the middle.
InterleavedOrder interleavedOrder(int ranks, int microBatches, int chunks);

}  // namespace pipetrace
