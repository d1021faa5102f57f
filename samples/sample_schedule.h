#pragma once

#include "samples/sample_options.h"
#include "schedule/schedule.h"

namespace pipetrace {

/// The plan that the options ask for, by name or from a file. Throws Error if the file cannot be
/// read or is no plan that can run.
Schedule sampleSchedule(const SampleOptions& options);

/// Throws Error if the number of processes is not that of the plan's ranks.
void requireWorldSize(const Schedule& schedule, int worldSize);

}  // namespace pipetrace
