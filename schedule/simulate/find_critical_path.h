#pragma once

#include "schedule/simulate/critical_path.h"
#include "schedule/simulate/plan_timing.h"

namespace pipetrace {

/// The critical path of the step that `timing` ran last. begins[r] is when rank r began it, before
/// its `lr`, ends[r] when it ended it, after its last `optimizer`. Where a job could not have begun
/// earlier for two reasons, its rank counts.
CriticalPath findCriticalPath(const Schedule& schedule, const Costs& costs,
                              const PlanTiming& timing, const std::vector<Nanoseconds>& begins,
                              const std::vector<Nanoseconds>& ends);

}  // namespace pipetrace
