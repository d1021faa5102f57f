#pragma once

#include "runtime/engine/strategy.h"
#include "samples/sample_options.h"

namespace pipetrace {

struct SampleTask;

/// Throws Error if the partition does not fit the model, with the place of a configuration file
/// that has it.
void requirePartition(const SampleOptions& options, const Strategy& strategy, int blocks);

/// Prints on stdout what --dry-run shows: the plan, the blocks of each stage, and the ranks' rows.
/// Throws Error for a strategy that cannot train the model.
void printPlan(const SampleOptions& options, const Strategy& strategy, const SampleTask& task);

}  // namespace pipetrace
