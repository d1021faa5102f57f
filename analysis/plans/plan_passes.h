#pragma once

#include <cstdint>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// Whether any action of the plan is half a backward pass.
bool hasHalves(const Plan& plan);

/// Whether every action is of a compute job and in the plan's range, and there are few enough
/// stages and micro-batches to number their passes.
bool hasPassNumbers(const Plan& plan);

/// Rows of actions as rows of passes, so that a whole backward pass is alike whether it stands in
/// the plan as one job, as two halves or in a fused pair. Each pass of a stage and a micro-batch
/// has a number below 3 * numStages * numMicroBatches.
///
/// With `inHalves` a whole backward pass is an input half and a weight half right after it. Without
/// it an input half counts as the whole backward pass, and weight halves do not count. The plan
/// must have pass numbers.
std::vector<std::int32_t> passesOf(const Plan& plan, const std::vector<Action>& row, bool inHalves);

/// `reference` in the kinds of jobs that `measured` has, as far as its order allows it: halves that
/// stand side by side become one backward pass where the other plan has one, a whole one becomes
/// its halves, fused pairs are made and taken apart. In a measured plan without halves the input
/// half is the backward pass. Both are of one size and have pass numbers.
Plan inJobsOf(const Plan& measured, Plan reference);

}  // namespace pipetrace
