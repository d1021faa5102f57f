#pragma once

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Places the ranks of a sorted timeline by the stages that their jobs name, where several ranks
/// run the same jobs, or nobody runs some stages, and nothing else says who is where: neither logs,
/// groups, options, nor messages that name the rank at their other end. Sets RankInfo's
/// pipelineRanks, dataParallelIndex, numStages and numChunks, and says in a note that it was
/// inferred.
///
/// Ranks whose jobs name the same stages and micro-batches are replicas. Ranks are counted along
/// the replicas first (rank = position · replicas + replica, as Megatron-LM and torch do), else
/// along the pipelines (rank = replica · positions + position). Nothing is set unless one of the
/// two fits the numbers of all ranks, and the ranks that messages name. Where replicas are counted
/// first, up to half of the ranks may have no file. A pipeline has as many ranks as the stages show
/// that jobs and sent messages name.
void placeByStages(Timeline& timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
