#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/train/data/data_loader.h"

namespace pipetrace {

/// Examples in rows, which an epoch goes through once, in this order.
struct DataSet {
  std::int64_t rows = 0;
  std::int64_t batchSize = 0;  ///< rows of a step of one replica
  /// Makes the rows [first, first + count): the same on all ranks. Called ahead of its use, on a
  /// thread of each rank that needs it, so from several threads at a time.
  std::function<Batch(std::int64_t first, std::int64_t count)> batch;
};

/// The rows of tensors in memory. Throws Error for tensors of different numbers of rows.
DataSet dataSetOf(Batch all, std::int64_t batchSize);

/// Examples that have no order of rows, such as windows drawn from a text: an epoch has `steps`
/// steps of `batchSize` rows of each of `replicas` replicas (Strategy::replicas). `batch` makes
/// those of a replica's step, the same on all ranks, and is called as DataSet::batch is.
DataSet dataSetOfSteps(std::function<Batch(int step, int replica)> batch, int steps,
                       std::int64_t batchSize, int replicas = 1);

/// Rows [first, first + count).
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Cuts the rows of an epoch into steps, and these into parts for the replicas.
class DataSteps {
 public:
  /// Training: each step has batchSize rows of each replica, the last one as many as are left, the
  /// same for each replica and no fewer than `microBatches`. Rows that do not fit are left
  /// out. Throws Error if there is no step.
  static DataSteps ofTraining(const DataSet& data, int replicas, int microBatches);
  /// Evaluation: no row is left out. Steps have at most batchSize rows of each replica, and as
  /// equal numbers as possible. Throws Error for fewer rows than replicas.
  static DataSteps ofEvaluation(const DataSet& data, int replicas);

  int count() const { return static_cast<int>(count_); }
  std::int64_t leftOut() const { return leftOut_; }
  /// All rows of a step.
  RowRange rowsOf(int step) const;
  RowRange rowsOf(int step, int replica) const;
  /// The fewest rows of a replica in that step.
  std::int64_t leastRowsOf(int step) const { return rowsOf(step).count / replicas_; }

 private:
  int replicas_ = 1;
  std::int64_t leftOut_ = 0;
  std::int64_t count_ = 0;
  std::int64_t whole_ = 0;  // rows of each step but the last; 0: steps are as equal as possible
  std::int64_t rows_ = 0;   // of all steps
};

}  // namespace pipetrace
