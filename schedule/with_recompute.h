#pragma once

#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The plan with recomputes. One stands right before each backward pass, input half or fused pair
/// whose backward is of a stage s with stages[s]; stages beyond the vector's end have none.
/// Micro-batches that are recomputed already keep theirs. Sends and receives stay where they are,
/// so a receive that stood before the backward stands before the recompute, too.
///
/// A recompute waits for nothing but its rank: a plan that can run still can, with any buffers and
/// credits. `plan` may have problems. Linear in the number of actions.
Plan withRecompute(const Plan& plan, const std::vector<bool>& stages);

/// Costs whose backward passes take as much longer as their recomputes, for a search that knows no
/// recomputes. Fused pairs with a time of their own keep it.
Costs withRecomputeInBackwards(Costs costs);

}  // namespace pipetrace
