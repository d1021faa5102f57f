#pragma once

#include <optional>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The arrangement of the ranks as the user gives it. All numbers are above 0.
struct GivenTopology {
  std::optional<int> pipelineRanks;  ///< ranks of one pipeline: --pp
  std::optional<int> replicas;       ///< data-parallel indices: --dp
  std::optional<int> chunks;         ///< stages on one rank: --vpp
  std::optional<int> tensorRanks;    ///< ranks that share the work of a stage: --tp
};

/// Completes, in a sorted timeline, the topology that the logs do not give: RankInfo's numStages,
/// numChunks, dataParallelIndex and tensorParallelIndex. Throws Error where a value differs from
/// that of the logs, or of groups (placeByGroups()), or does not fit the ranks of the input.
///
/// Pipelines are the groups of ranks that send to each other, if their number and size are as
/// given. Else, where jobs name as many stages as a pipeline has ranks, the n-th rank of each stage
/// is in the n-th pipeline. Else pipelines are ranks in a row: 0 to pp − 1 are the first.
///
/// Each tensor-parallel index has a pipeline of its own, and tensor-parallel peers have
/// neighbouring numbers: pipelines 0 to tp − 1, by their lowest ranks, are those of the first
/// replica. Replicas that the logs number are divided like this, if those numbers count pipelines;
/// else the ranks of one replica and stage are the tensor-parallel peers.
///
/// Either of pp and dp follows from the other, tp and the number of ranks. With tp alone, pp is the
/// size of the groups that send to each other or the number of stages that jobs name; else all
/// ranks are one replica. If pp is given and the number of chunks is not, the chunks are those that
/// jobs name. Numbers of the logs that do not fit the ranks of the input are reported and
/// not used.
void giveTopology(Timeline& timeline, const GivenTopology& given, Diagnostics& diagnostics);

}  // namespace pipetrace
