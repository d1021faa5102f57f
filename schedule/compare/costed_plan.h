#pragma once

#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The plan with the work that its costs give a time to. These are reductions of stages on several
/// ranks, the agreement of all ranks, and recomputes of single stages. A plan that has recomputes
/// keeps its own. `plan` may have problems. Throws Error as withScalarAllReduce() does, where
/// `agreement` asks for it.
Plan withCostedWork(Plan plan, const Costs& costs,
                    const char* agreement = "an agreement of all ranks");

}  // namespace pipetrace
