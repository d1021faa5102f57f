#pragma once

#include <functional>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// The row with a REDUCE_GRAD of each stage that `isReduced` after its last backward or weight
/// half, and after the sends right behind that. Stages that have one get no second.
std::vector<Action> withReductions(const std::vector<Action>& row,
                                   const std::function<bool(int stage)>& isReduced);

/// The plan with a REDUCE_GRAD on each rank of a stage that stands on several. An asynchronous plan
/// has one at each update of such a stage, in place of those that it has. (One with problems stays
/// as it is.)
Plan withReductions(Plan plan);

/// The plan as ranks run it: withReductions(), and without all other data-parallel actions, for
/// which they have no work. Name, fingerprint and everything else stay.
Plan asRanksRun(Plan plan);

}  // namespace pipetrace
