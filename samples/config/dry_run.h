#pragma once

#include "runtime/engine/strategy.h"
#include "runtime/engine/training_plan.h"
#include "samples/sample_options.h"

namespace pipetrace {

struct SampleTask;

/// Throws Error if the partition does not fit the model.
void requirePartition(const Strategy& strategy, int blocks);

/// Throws Error where the file of --blocks-out is one of another option.
void requireNoInput(const SampleOptions& options);

/// For a dry run: throws Error for what the run would be refused for, as far as this process can
/// know it without others. The engine's checks are of the plan, the model, the number of processes
/// and the rows of a step. Then come the checkpoint to go on from and the partition to be measured.
void requireRuns(const SampleOptions& options, const Strategy& strategy,
                 const TrainingPlan& training, const SampleTask& task);

/// Prints on stdout what --dry-run shows: the plan, the blocks of each stage, and the ranks' rows.
/// Throws Error as requireRuns() does.
void printPlan(const SampleOptions& options, const Strategy& strategy, const SampleTask& task);

}  // namespace pipetrace
