#pragma once

#include <vector>

#include "schedule/builders/schedule_info.h"
#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The plans of all synchronous schedules that there are for that many chunks, at least 1.
std::vector<Plan> builtPlans(const PlanSize& size);

/// One micro-batch after the other, which needs the least memory of all plans. `shape` gives sizes,
/// placement and name.
Plan oneAfterTheOther(Plan shape);

/// The forwards and input halves of a plan, in its order, as squeeze() takes them.
Plan orderOf(Plan plan);

/// Orders for squeeze(): building blocks of these costs, in which a micro-batch travels at several
/// speeds and waits at the turn for several times.
std::vector<Plan> blockOrders(const Plan& shape, const Costs& costs);

}  // namespace pipetrace
