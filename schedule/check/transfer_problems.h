#pragma once

#include <vector>

#include "schedule/check/plan_index.h"

namespace pipetrace {

/// Finds faults in the sends and receives of a full plan: one without the other, or a channel whose
/// receives are in another order than its sends. `index` is that of `plan`.
ProblemList transferProblems(const Plan& plan, const PlanIndex& index);

}  // namespace pipetrace
