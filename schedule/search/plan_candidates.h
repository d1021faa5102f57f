#pragma once

#include <vector>

#include "schedule/costs.h"
#include "schedule/schedule.h"

namespace pipetrace {

/// The plans of all synchronous builders that there are for so many chunks.
std::vector<Schedule> builtPlans(int ranks, int microBatches, int chunks);

/// One micro-batch after the other, which needs the least memory of all plans. `shape` gives sizes,
/// placement and name.
Schedule oneAfterTheOther(Schedule shape);

/// The forwards and input halves of a plan, in its order: what squeeze() takes.
Schedule orderOf(Schedule plan);

/// Orders for squeeze(): building blocks of these costs, in which a micro-batch travels at several
/// speeds and waits at the turn for several times.
std::vector<Schedule> blockOrders(const Schedule& shape, const Costs& costs);

}  // namespace pipetrace
