#pragma once

#include <optional>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// How the ranks are arranged, as somebody says who knows it. All numbers are above 0.
struct GivenTopology {
  std::optional<int> pipelineRanks;  ///< ranks of one pipeline: --pp
  std::optional<int> replicas;       ///< pipelines: --dp
  std::optional<int> chunks;         ///< stages on one rank: --vpp
};

/// Completes, in a sorted timeline, what the logs do not say (RankInfo's numStages, numChunks and
/// dataParallelIndex). What they say goes before, and where it is something else that is told in
/// `diagnostics`.
///
/// Pipelines are the groups of ranks that send to each other, if those are as many and as large as
/// was given, else ranks that follow each other: 0 to pp − 1 are the first. One of pp and dp
/// follows from the other and the number of ranks. With pp given and nobody to say how many chunks
/// there are, there are those that jobs name. Numbers that do not fit the ranks of the input are
/// told and place nothing.
void giveTopology(Timeline& timeline, const GivenTopology& given, Diagnostics& diagnostics);

}  // namespace pipetrace
