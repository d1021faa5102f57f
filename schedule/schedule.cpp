#include "schedule/schedule.h"

#include <algorithm>

namespace pipetrace {

std::vector<int> Schedule::stagesOfRank(int rank) const {
  std::vector<int> stages;
  for (std::size_t s = 0; s < rankOfStage.size(); ++s) {
    const bool reversed = isBidirectional() && rankOfStageReversed[s] == rank;
    if (reversed || rankOfStage[s] == rank) stages.push_back(static_cast<int>(s));
  }
  return stages;
}

int Schedule::chunkOfStage(int stage) const {
  const std::vector<int> stages = stagesOfRank(rankOfStage[static_cast<std::size_t>(stage)]);
  return static_cast<int>(std::lower_bound(stages.begin(), stages.end(), stage) - stages.begin());
}

int Schedule::numChunks() const {
  std::size_t chunks = 0;
  for (int r = 0; r < numRanks(); ++r) chunks = std::max(chunks, stagesOfRank(r).size());
  return static_cast<int>(chunks);
}

}  // namespace pipetrace
