#pragma once

#include "schedule/costs.h"
#include "trace/timeline.h"

namespace pipetrace {

/// What a run's jobs really cost, to plan or rehearse with: medians (of an even count the mean of
/// the middle two, rounded down) over all ranks, micro-batches and steps but the first, which is
/// warm-up; a run of one step is taken as it is.
///
/// A stage's costs are those of its forward, backward, input-half and weight-half jobs; where a run
/// has only the halves, the whole is their sum; a kind that the run does not have costs 0. Fused
/// pairs count for the stage of their forward; where it has none, forwardBackward stays open. A
/// stage's `message` is the median of the bytes that its forward sends and the gradients sent back
/// to it say (`bytes = …`); 0 where none does.
/// `transfer` is the median over messages of the receive's end − the later start of send and
/// receive, as what comes before is waiting; 0 where no message was logged.
///
/// `timeline` must be completed (completeTimeline). Throws Error if some stage has no forward job.
Costs measuredCosts(const Timeline& timeline);

}  // namespace pipetrace
