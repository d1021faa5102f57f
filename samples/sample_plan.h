#pragma once

#include <string>

#include "runtime/train/model/model.h"
#include "runtime/train/model/partition.h"
#include "samples/sample_options.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// The plan that the options ask for, by name or from a file. Throws Error if the file cannot be
/// read or is no plan that can run. Its gradients are not cut yet (withGradientsCut()).
CheckedPlan samplePlan(const SampleOptions& options);

/// How many parts the last backwards have: as the options say, else 2 under 1F1B where the
/// environment has PaddlePaddle's FLAGS_1f1b_backward_forward_overlap=1. `note` says how that
/// differs from PaddlePaddle, or that it does nothing here; else it stays empty.
int lastBackwardPartsOf(const SampleOptions& options, std::string& note);

/// The plan with its last backwards in parts, and the gradients of others in the options' buckets,
/// where stages are on several ranks. A stage with fewer blocks has one part for each. Throws Error
/// where no backward is the last, and for buckets of a plan without a flush.
CheckedPlan withGradientsCut(const CheckedPlan& plan, const SampleOptions& options, int parts,
                             const Partition& partition);

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
