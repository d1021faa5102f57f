#pragma once

#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// The plan without its data-parallel actions (isDataParallel()). Name, fingerprint and everything
/// else stay. Ranks run some of them: see asRanksRun().
Plan withoutDataParallel(Plan plan);
/// The same of the row of one rank.
std::vector<Action> withoutDataParallel(std::vector<Action> row);

}  // namespace pipetrace
