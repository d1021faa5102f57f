#include "runtime/train/loss_shares.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

namespace pipetrace {

LossShares::LossShares(const Plan& plan, const WeightVersions& versions)
    : numMicroBatches_(plan.numMicroBatches),
      lastStage_(plan.numStages - 1),
      // Without gradients nobody adds up the losses of replicas.
      replicas_(plan.isForwardOnly() ? 1 : plan.replicas),
      taken_(versions.taken) {
  if (taken_.empty()) return;
  sizes_.resize(static_cast<std::size_t>(plan.numStages));
  for (int s = 0; s < plan.numStages; ++s) {
    std::vector<int>& sizes = sizes_[static_cast<std::size_t>(s)];
    for (int m = 0; m < numMicroBatches_; ++m) {
      const auto update = static_cast<std::size_t>(taken_[placeOf(s, m)]);
      if (sizes.size() <= update) sizes.resize(update + 1, 0);
      ++sizes[update];
    }
  }
  ofLast_.resize(sizes_.back().size());
  for (int m = 0; m < numMicroBatches_; ++m) {
    ofLast_[static_cast<std::size_t>(taken_[placeOf(lastStage_, m)])].push_back(m);
  }
}

int LossShares::sizeOfUpdate(int stage, int microBatch) const {
  return sizes_[static_cast<std::size_t>(stage)]
               [static_cast<std::size_t>(taken_[placeOf(stage, microBatch)])];
}

double LossShares::lossShare(int microBatch, const MicroBatchRows& rows) const {
  const auto own = static_cast<double>(rows.countOf(microBatch % rows.microBatches));
  if (taken_.empty()) return own / static_cast<double>(rows.rows * replicas_);
  std::int64_t all = 0;
  const int update = taken_[placeOf(lastStage_, microBatch)];
  for (const int m : ofLast_[static_cast<std::size_t>(update)]) {
    all += rows.countOf(m % rows.microBatches);
  }
  return own / static_cast<double>(all);
}

double LossShares::meanOfStep(int microBatch, const MicroBatchRows& rows) const {
  if (taken_.empty()) return 1;
  const auto own = static_cast<double>(rows.countOf(microBatch % rows.microBatches));
  return own / static_cast<double>(rows.rows * replicas_) / lossShare(microBatch, rows);
}

void LossShares::rescale(int stage, int microBatch, const TensorRoutes& routes,
                         JobMessages messages) const {
  if (taken_.empty()) return;
  const at::NoGradGuard noGrad;
  const int own = sizeOfUpdate(stage, microBatch);
  std::size_t next = 0;
  for (const TensorRoute& route : routes) {
    if (route.from != stage || !route.hasGradient) continue;
    at::Tensor& gradient = messages.inputs[next++].tensor;
    const int theirs = sizeOfUpdate(route.to, microBatch);
    if (theirs == own || !gradient.defined()) continue;
    // Not in place: within a process the sender may have it still.
    gradient = gradient * (static_cast<double>(theirs) / own);
  }
}

}  // namespace pipetrace
