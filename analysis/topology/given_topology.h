#pragma once

#include <optional>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The arrangement of the ranks as the user gives it. All numbers are above 0.
struct GivenTopology {
  std::optional<int> pipelineRanks;  ///< ranks of one pipeline: --pp
  std::optional<int> replicas;       ///< pipelines: --dp
  std::optional<int> chunks;         ///< stages on one rank: --vpp
};

/// Completes, in a sorted timeline, the topology that the logs do not give: RankInfo's numStages,
/// numChunks and dataParallelIndex. The logs take precedence; `diagnostics` reports a value that
/// differs from theirs.
///
/// Pipelines are the groups of ranks that send to each other, if their number and size are as
/// given. Else pipelines are ranks in a row: 0 to pp − 1 are the first. Either of pp and dp follows
/// from the other and the number of ranks. If pp is given and the number of chunks is not, the
/// chunks are those that jobs name. Numbers that do not fit the ranks of the input are reported and
/// not used.
void giveTopology(Timeline& timeline, const GivenTopology& given, Diagnostics& diagnostics);

}  // namespace pipetrace
