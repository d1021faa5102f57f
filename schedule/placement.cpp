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

std::string toText(const std::vector<int>& ofStage) {
  std::string text;
  for (const int number : ofStage) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::vector<int> stageDepthsOption(std::string_view text) {
  const std::vector<std::vector<int>> depths = ranksOfStageFrom(text);
  if (depths.size() == 1) return depths.front();
  throw Error("--stage-depths " + std::string(text) +
              ": give with how many forwards the ranks of each stage warm up, as 2,1 for two of "
              "stage 0 and one of stage 1");
}

}  // namespace pipetrace
