#include "schedule/schedule.h"

#include <algorithm>

namespace pipetrace {

std::vector<int> Schedule::stagesOfRank(int rank) const {
  std::vector<int> stages;
  for (std::size_t s = 0; s < rankOfStage.size(); ++s) {
    if (rankOfStage[s] == rank) stages.push_back(static_cast<int>(s));
  }
  return stages;
}

int Schedule::chunkOfStage(int stage) const {
  const auto end = rankOfStage.begin() + stage;
  return static_cast<int>(std::count(rankOfStage.begin(), end, *end));
}

int Schedule::numChunks() const {
  std::size_t chunks = 0;
  for (int r = 0; r < numRanks(); ++r) chunks = std::max(chunks, stagesOfRank(r).size());
  return static_cast<int>(chunks);
}

}  // namespace pipetrace
