#pragma once

#include "runtime/engine/strategy.h"
#include "samples/sample_options.h"

namespace pipetrace {

struct SampleTask;

/// Prints on stdout what --dry-run shows: the plan, the blocks of each stage, and the ranks' rows.
/// Throws Error as requireRuns() does.
void printPlan(const SampleOptions& options, const Strategy& strategy, const SampleTask& task);

}  // namespace pipetrace
