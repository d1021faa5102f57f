#pragma once

#include <map>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Which ranks make up a pipeline, and in which order.
struct Topology {
  struct Place {
    int replica = 0;    ///< the number of its pipeline (Topology::dataParallelIndex())
    int position = -1;  ///< 0 .. depth - 1 in its pipeline; -1: not known
    int depth = 0;      ///< ranks of its pipeline
    int chunks = 1;     ///< stages per rank
  };

  /// The place of each rank that has a compute job.
  std::map<int, Place> places;
  /// Whether a part of it was not in the logs. Where groups of ranks name all pipelines, it is not.
  bool inferred = false;

  /// The ranks that share the work of one stage (tensor parallelism), as far as the logs name them.
  /// Each tensor-parallel index has pipelines of its own: pipeline d · tensorRanks + t is that of
  /// data-parallel index d and tensor-parallel index t.
  int tensorRanks = 1;

  /// Where the logs say that ranks share the micro-batches of a stage: the ranks of each stage,
  /// counted in their pipeline. Else empty.
  std::vector<std::vector<int>> ranksOfStage;

  /// The ranks of each pipeline, ascending.
  std::map<int, std::vector<int>> replicas() const;
  int dataParallelIndex(int replica) const { return replica / tensorRanks; }
  int tensorParallelIndex(int replica) const { return replica % tensorRanks; }
};

/// The ranks of each stage that all logs name in RankInfo::ranksOfStage, where each rank of a
/// pipeline has one stage. Else empty.
std::vector<std::vector<int>> statedStageRanks(const Timeline& timeline);

/// The ranks of its pipeline that a rank names (RankInfo::pipelineRanks), in their order. Else
/// empty.
std::vector<int> statedPipeline(const RankInfo& info);

/// The topology that `Profiler Meta:` gives, where the logs have it. Else it is inferred:
/// - ranks that send to each other make up a pipeline, if the pipelines are then of one size;
///   otherwise all ranks make up one pipeline;
/// - replicas are numbered in the order of their lowest ranks, those of each tensor-parallel index
///   by themselves;
/// - chunks are those that the jobs name;
/// - the ranks of a pipeline follow each other in the order of their numbers.
///
/// Found jobs (RankInfo::jobsFound) name no stages. Where messages lead to ranks that have no file,
/// or name none while ranks are missing, the positions of their pipeline are not known.
///
/// Where a rank names those of its pipeline (RankInfo::pipelineRanks), they are these in this
/// order. Where ranks share stages (RankInfo::ranksOfStage), a pipeline has the ranks that these
/// name, in the order of their numbers. Uses that many threads, which makes no difference to the
/// result.
Topology topologyOf(const Timeline& timeline, int threads = 1);

}  // namespace pipetrace
