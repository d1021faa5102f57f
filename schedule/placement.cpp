#include "schedule/placement.h"

#include "trace/error.h"

namespace pipetrace {

Placement Placement::ofRanks(const std::vector<int>& rankOfStage) {
  Placement placement;
  placement.ranksOfStage.reserve(rankOfStage.size());
  for (const int rank : rankOfStage) placement.ranksOfStage.push_back({rank});
  return placement;
}

bool Placement::isBidirectional() const {
  const std::size_t last = numStages() - 1;
  for (std::size_t s = 0; s < numStages(); ++s) {
    if (ranksOfStage[s].size() != 2 || ranksOfStage[last - s].size() != 2) return false;
    if (ranksOfStage[s].back() != ranksOfStage[last - s].front()) return false;
  }
  return numStages() > 0;
}

std::vector<std::vector<int>> stageRanksOption(std::string_view text) {
  std::vector<std::vector<int>> ranks = ranksOfStageFrom(text);
  if (!ranks.empty()) return ranks;
  throw Error("--stage-ranks " + std::string(text) +
              ": give the ranks of each stage, as 0,1/2 for two ranks of stage 0 and one of "
              "stage 1");
}

}  // namespace pipetrace
