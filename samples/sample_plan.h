#pragma once

#include "samples/sample_options.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// The plan that the options ask for, by name or from a file. Throws Error if the file cannot be
/// read or is no plan that can run.
CheckedPlan samplePlan(const SampleOptions& options);

/// Throws Error if the number of processes is not that of the plan's ranks.
void requireWorldSize(const Plan& plan, int worldSize);

}  // namespace pipetrace
