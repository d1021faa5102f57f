#pragma once

#include "schedule/simulate/plan_timing.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Appends to the counters "live_activations" and "memory" of each rank what it holds in the step
/// that `timing` ran last, whenever that changes.
void addHeldMemoryCounters(const Schedule& schedule, const Costs& costs, const PlanTiming& timing,
                           Timeline& timeline);

}  // namespace pipetrace
