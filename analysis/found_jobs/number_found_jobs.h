#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// Gives jobs that a reader found without annotations (RankInfo::jobsFound) their stages, chunks
/// and micro-batches, where ranks have several chunks. Until then their micro-batch is the place of
/// their forward among those of their rank and step.
///
/// The messages of a micro-batch lead from stage to stage: the k-th forward that one rank sends to
/// another is the k-th that the other gets from it. The first stage has the forwards of the first
/// rank that get no message, in their order. Elsewhere a forward that gets none continues one of
/// its own rank that sends none. Where messages do not name the other rank, they go to the next
/// rank of the pipeline.
///
/// Where messages are missing or contradict that, all ranks of a step together are compared with
/// the schedules that are known. A reader may know only the order of backwards
/// (RankInfo::jobsByOrder). Then the schedule says whose they are. If schedules of several numbers
/// of chunks fit, the least count holds, and jobsByOrder stays. A step that fits none keeps its numbers by order, and
/// RankInfo::jobsByOrder counts it.
///
/// `timeline`: sorted, with steps. Does nothing more when it is called again.
void numberFoundJobs(Timeline& timeline, int threads = 1);

}  // namespace pipetrace
