#pragma once

#include <algorithm>
#include <cstdint>

namespace pipetrace {

/// How a batch is split into micro-batches: into floor(B/m) or ceil(B/m) rows, the longer ones
/// first.
struct MicroBatchRows {
  std::int64_t rows = 0;  ///< of the batch
  int microBatches = 1;

  std::int64_t firstOf(int microBatch) const {
    return microBatch * (rows / microBatches) +
           std::min<std::int64_t>(microBatch, rows % microBatches);
  }
  std::int64_t countOf(int microBatch) const {
    return rows / microBatches + (microBatch < rows % microBatches ? 1 : 0);
  }
};

}  // namespace pipetrace
