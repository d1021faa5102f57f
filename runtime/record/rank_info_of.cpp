#include "runtime/record/rank_info_of.h"

namespace pipetrace {

RankInfo rankInfoOf(const Schedule& schedule, int rank) {
  RankInfo info;
  info.rank = rank;
  info.worldSize = schedule.numRanks();
  info.device = "cpu";
  info.numStages = schedule.numStages;
  info.numChunks = schedule.numChunks();
  info.numMicroBatches = schedule.numMicroBatches;
  info.schedule = schedule.name;
  info.dataParallelIndex = 0;
  return info;
}

}  // namespace pipetrace
