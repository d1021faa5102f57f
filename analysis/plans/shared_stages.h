#pragma once

#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// Sets the placement of a plan with more ranks than stages, whose ranks take turns at the
/// micro-batches of their stages. Returns whether it did so. `stated` holds the ranks of each stage
/// as the logs name them.
///
/// Where it is empty or of other ranks, they follow from the actions. Each rank must have actions
/// of one stage. Where a stage has n ranks, one must have most of
/// the micro-batches 0, n, 2n and so on, another one most of 1, n + 1 and so on. Linear in the
/// plan.
bool placeSharedStages(Plan& plan, const std::vector<std::vector<int>>& stated);

/// Whether the placement is such: ranks take turns at the micro-batches of a stage.
bool hasSharedStages(const Plan& plan);

}  // namespace pipetrace
