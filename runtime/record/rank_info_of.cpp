#include "runtime/record/rank_info_of.h"

#include <algorithm>

#include "schedule/partition/partition_file.h"

namespace pipetrace {

RankInfo rankInfoOf(const Plan& plan, int rank, const BlockPartition& partition) {
  RankInfo info;
  info.rank = rank;
  info.worldSize = plan.numRanks();
  info.device = "cpu";
  info.numStages = plan.numStages;
  info.numChunks = plan.numChunks();
  info.numMicroBatches = plan.microBatchesOfReplica();
  if (plan.placement.hasSeveralRanks()) info.ranksOfStage = toText(plan.placement.ranksOfStage);
  info.blocks = blockCountsText(partition.blocks);
  const auto recomputes = [](int count) { return count > 0; };
  if (std::any_of(partition.recomputed.begin(), partition.recomputed.end(), recomputes)) {
    info.recomputedBlocks = blockCountsText(partition.recomputed);
  }
  info.schedule = plan.name;
  info.dataParallelIndex = plan.replicaOf(rank);
  return info;
}

}  // namespace pipetrace
