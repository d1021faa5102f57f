#pragma once

#include <cstdint>

#include "analysis/run/graph/job_graph.h"
#include "analysis/run/plans/measured_plan.h"
#include "schedule/plan.h"

namespace pipetrace {

/// `plan` with the sends and receives of a step, each rank's in the order in which the logs have
/// them. `plan` has the jobs of `measured`, which is that of `step`. Empty where messages are
/// missing, or where no plan has their order.
Plan withLoggedMessages(const Plan& plan, const MeasuredPlan& measured, const JobGraph& graph,
                        std::int32_t step);

}  // namespace pipetrace
