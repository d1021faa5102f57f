#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// Whether any action of the plan is half a backward pass.
bool hasHalves(const Plan& plan);

/// Whether every action is of a compute job and in the plan's range, and there are few enough
/// stages and micro-batches to number their passes.
bool hasPassNumbers(const Plan& plan);

/// Rows of actions as rows of passes. A backward pass is alike whether it stands in the plan as one
/// job, as two halves or in a fused pair. Each pass of a stage and a micro-batch has a number below
/// 3 * numStages * numMicroBatches.
///
/// The measured plan sets how fine they are. Where it has halves, a whole backward pass is an input
/// half and a weight half right after it. Where it has none, an input half is the whole backward
/// pass, and weight halves do not count. The first stage has no gradient to send on, so runs may
/// have no input half there: then none counts.
class PassRows {
 public:
  /// The plan must have pass numbers and outlive this.
  explicit PassRows(const Plan& measured);

  bool inHalves() const { return inHalves_; }
  std::size_t passCount() const;
  /// A row of the measured plan, or of one with as many stages and no more micro-batches.
  std::vector<std::int32_t> passesOf(const std::vector<Action>& row) const;

 private:
  enum Pass { kForwardPass, kBackwardPass, kWeightPass, kPassCount };
  void add(std::vector<std::int32_t>& passes, Pass pass, int stage, int microBatch) const;

  const Plan& measured_;
  bool inHalves_;
  std::vector<bool> hasNoInputHalf_;  // by micro-batch, of the first stage
};

/// `reference` in the kinds of jobs that `measured` has, as far as its order allows it. Halves that
/// stand side by side become one backward pass where the other plan has one. A whole one becomes
/// its halves. Fused pairs are made and taken apart. In a measured plan without halves the input
/// half is the backward pass. Input halves that the measured plan's first stage lacks are left out.
/// Both are of one size and have pass numbers.
Plan inJobsOf(const Plan& measured, Plan reference);

}  // namespace pipetrace
