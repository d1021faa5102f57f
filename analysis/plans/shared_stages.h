#pragma once

#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// Sets the placement of a plan with more ranks than stages, whose ranks take turns at the
/// micro-batches of their stages. `stated`: the ranks of each stage as the logs name them; empty or
/// of other ranks: they follow from the actions, if each rank has actions of one stage, and each of
/// n ranks of a stage most of those whose micro-batches leave one remainder divided by n. Returns
/// whether it did so. Linear in the plan.
bool placeSharedStages(Plan& plan, const std::vector<std::vector<int>>& stated);

/// Whether the placement is such: ranks take turns at the micro-batches of a stage.
bool hasSharedStages(const Plan& plan);

}  // namespace pipetrace
