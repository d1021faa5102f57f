#pragma once

#include <vector>

#include "runtime/stage_work.h"
#include "schedule/check/weight_versions.h"

namespace pipetrace {

/// By what losses and gradients of micro-batches are multiplied, so that they add up to a mean.
///
/// With a flush that is the mean over the rows of all replicas. Without one it is the mean over the
/// rows of an update of the last stage. A stage whose updates have other micro-batches takes the
/// mean over these: with n times as many in an update, each counts with an nth. So PipeDream's
/// stage on n ranks follows the mean over their n micro-batches, as its runtime does.
///
/// Threads: one.
class LossShares {
 public:
  /// For one replica, and a plan with a flush.
  LossShares() = default;
  /// `versions` are those of the plan.
  LossShares(const Plan& plan, const WeightVersions& versions);

  /// With what a micro-batch's loss counts, on the last stage. `rows`: of a replica's batch.
  double lossShare(int microBatch, const MicroBatchRows& rows) const;
  /// A loss with that share, multiplied by this, counts with its share of the rows of a step.
  double meanOfStep(int microBatch, const MicroBatchRows& rows) const;
  /// Multiplies the gradients that a backward of `stage` gets from stages with other updates.
  void rescale(int stage, int microBatch, const TensorRoutes& routes, JobMessages messages) const;

 private:
  std::size_t placeOf(int stage, int microBatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(numMicroBatches_) +
           static_cast<std::size_t>(microBatch);
  }
  int sizeOfUpdate(int stage, int microBatch) const;

  int numMicroBatches_ = 0;
  int lastStage_ = 0;
  int replicas_ = 1;                      // whose losses are added
  std::vector<int> taken_;                // WeightVersions::taken; empty: there is a flush
  std::vector<std::vector<int>> sizes_;   // by stage and update: the number of micro-batches
  std::vector<std::vector<int>> ofLast_;  // by update of the last stage: its micro-batches
};

}  // namespace pipetrace
