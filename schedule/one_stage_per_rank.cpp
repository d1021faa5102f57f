#include <numeric>
#include <string>

#include "schedule/builders.h"
#include "trace/error.h"

namespace pipetrace {

Schedule oneStagePerRank(const char* name, int ranks, int microBatches) {
  if (ranks < 1 || microBatches < 1) {
    throw Error("cannot plan " + std::string(name) + " for " + std::to_string(ranks) +
                " ranks and " + std::to_string(microBatches) +
                " micro-batches; both must be at least 1");
  }
  Schedule schedule;
  schedule.name = name;
  schedule.numStages = ranks;
  schedule.numMicroBatches = microBatches;
  schedule.ranks.resize(static_cast<std::size_t>(ranks));
  schedule.rankOfStage.resize(static_cast<std::size_t>(ranks));
  std::iota(schedule.rankOfStage.begin(), schedule.rankOfStage.end(), 0);
  return schedule;
}

}  // namespace pipetrace
