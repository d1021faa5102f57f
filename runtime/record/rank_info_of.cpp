#include "runtime/record/rank_info_of.h"

namespace pipetrace {

RankInfo rankInfoOf(const Plan& plan, int rank) {
  RankInfo info;
  info.rank = rank;
  info.worldSize = plan.numRanks();
  info.device = "cpu";
  info.numStages = plan.numStages;
  info.numChunks = plan.numChunks();
  info.numMicroBatches = plan.microBatchesOfReplica();
  if (plan.placement.hasSeveralRanks()) info.ranksOfStage = toText(plan.placement.ranksOfStage);
  info.schedule = plan.name;
  info.dataParallelIndex = plan.replicaOf(rank);
  return info;
}

}  // namespace pipetrace
