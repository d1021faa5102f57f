#pragma once

#include <string>

#include "runtime/train/model/model.h"
#include "runtime/train/model/partition.h"
#include "samples/sample_options.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// The plan that the options ask for, by name or from a file. Throws Error if the file cannot be
/// read or is no plan that can run.
CheckedPlan samplePlan(const SampleOptions& options);

/// How the model is spread over the stages: as --partition says, else evenly. Throws Error if that
/// does not fit.
Partition samplePartition(const SampleOptions& options, const Model& model, int numStages);

/// The plan with a recompute before the backwards of stages that recompute some of their blocks. A
/// forward-only plan, and one that has recomputes itself, stay as they are.
CheckedPlan withRecomputes(CheckedPlan plan, const Partition& partition);

/// The plan with its messages in an order that runs in line, where its own does not: in the order
/// of their times, if all stages cost the same. Says so in `note`, which else stays empty.
CheckedPlan withMessagesInLine(CheckedPlan plan, std::string& note);

/// Throws Error if the number of processes is not that of the plan's ranks.
void requireWorldSize(const Plan& plan, int worldSize);

}  // namespace pipetrace
