#include "schedule/placement.h"

#include <algorithm>

#include "trace/error.h"

namespace pipetrace {

Placement Placement::ofRanks(const std::vector<int>& rankOfStage) {
  Placement placement;
  placement.ranksOfStage.reserve(rankOfStage.size());
  for (const int rank : rankOfStage) placement.ranksOfStage.push_back({rank});
  return placement;
}

bool Placement::isBidirectional() const {
  int highest = -1;
  for (const std::vector<int>& ranks : ranksOfStage) {
    if (ranks.size() != 2) return false;
    highest = std::max({highest, ranks.front(), ranks.back()});
  }
  // Fewer stages than ranks: ranks take turns.
  const auto last = static_cast<int>(numStages()) - 1;
  bool byStages = true;
  bool byRanks = highest <= last;
  for (int s = 0; s <= last && (byStages || byRanks); ++s) {
    const int second = ranksOf(s).back();
    byStages = byStages && second == firstRankOf(last - s);
    byRanks = byRanks && second == highest - firstRankOf(s);
  }
  return last >= 0 && (byStages || byRanks);
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
