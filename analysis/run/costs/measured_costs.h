#pragma once

#include <vector>

#include "analysis/run/run.h"
#include "analysis/run/steps/counted_steps.h"
#include "schedule/costs.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The costs of a run's jobs, to plan or rehearse with. They are medians over all ranks,
/// micro-batches and steps. The median of an even count is the mean of the middle two, rounded
/// down. A long first step is left out (CountedSteps), and so are steps of other phases than the
/// one that counts (countedPhaseOf()).
///
/// - A stage has the costs of its forward, backward, input-half, weight-half and recompute jobs.
///   Where a run has only the halves, the whole is their sum. A kind that the run does not have
///   costs 0.
/// - The `reduction` of a stage is the median over its all-reduces with given members (`members =
///   …`): their last end − their last begin. 0 where none was logged.
///   Those that name no stage are agreements of all ranks (`agreement`).
/// - Fused pairs count for the stage of their forward. A stage without any has no forwardBackward
///   (-1).
/// - The `message` of a stage is the median of the bytes (`bytes = …`) of its forward's sends and
///   of the gradients sent back to it; 0 where no bytes are logged.
/// - `transfer` is the median over messages of the receive's end − the later start of send and
///   receive: the time before that is a wait. 0 where no message was logged.
///
/// They are over Run::usualSteps(). Throws Error if some stage has no forward job.
Costs measuredCosts(const Run& run);
/// The same over these steps and, unless they are empty, these ranks (ascending) and the messages
/// between them.
Costs measuredCosts(const Run& run, const CountedSteps& counted,
                    const std::vector<int>& ranks = {});

}  // namespace pipetrace
