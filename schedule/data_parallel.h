#pragma once

#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// The plan without its data-parallel actions (isDataParallel()), as ranks run it: the runtime has
/// no work for them. Name, fingerprint and everything else stay.
Plan withoutDataParallel(Plan plan);
/// The same of the row of one rank.
std::vector<Action> withoutDataParallel(std::vector<Action> row);

}  // namespace pipetrace
