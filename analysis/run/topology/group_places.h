#pragma once

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Places the ranks of a sorted timeline by the groups that they are in (RankInfo::groups), where
/// logs do not say it. Sets RankInfo's pipelineRanks, dataParallelIndex and tensorParallelIndex.
/// Where jobs name stages or chunks, it sets numStages and numChunks, too.
///
/// - A pipeline is a group for pipelines. Where none is named so, it is the ranks that send to each
///   other.
///   Where ranks have no file, these are not all of it. Then it is the smallest group of unknown
///   purpose that holds a rank and those that it sends to. A group of all ranks is one only of
///   ranks that are in no other. Each rank is a pipeline by itself if nobody sends, jobs name no
///   later stage, and groups connect all ranks. These are groups of other axes, or of unknown
///   purpose that add up.
/// - Ranks share a stage if they are in one group for tensor or context parallelism. So do ranks
///   of a group of unknown purpose in which collectives add up inside the forwards of each of them.
/// - All other pipelines are replicas.
///
/// Each pipeline has the tensor-parallel index of its ranks among those that share their stage.
/// Replicas are numbered in the order of their lowest ranks. Ranks without a file count as well, as
/// the groups of others name them. Groups that contradict each other are not used; `diagnostics`
/// reports it as a doubt.
void placeByGroups(Timeline& timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
