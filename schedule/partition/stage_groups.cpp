#include "schedule/partition/stage_groups.h"

#include <algorithm>

namespace pipetrace {

std::vector<StageGroup> stageGroups(const Plan& plan) {
  const std::vector<std::vector<int>> byRank = plan.stagesByRank();
  // By stage: the first stage of its group that is known so far.
  std::vector<int> group(static_cast<std::size_t>(plan.numStages));
  for (int stage = 0; stage < plan.numStages; ++stage) {
    group[static_cast<std::size_t>(stage)] = stage;
  }
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (const std::vector<int>& stages : byRank) {
      int first = plan.numStages;
      for (const int stage : stages)
        first = std::min(first, group[static_cast<std::size_t>(stage)]);
      for (const int stage : stages) {
        int& of = group[static_cast<std::size_t>(stage)];
        hasChanged = hasChanged || of != first;
        of = first;
      }
    }
  }
  std::vector<StageGroup> groups(static_cast<std::size_t>(plan.numStages));
  for (int stage = 0; stage < plan.numStages; ++stage) {
    groups[static_cast<std::size_t>(group[static_cast<std::size_t>(stage)])].stages.push_back(
        stage);
  }
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const std::vector<int>& stages = byRank[static_cast<std::size_t>(rank)];
    if (stages.empty()) continue;
    const int first = group[static_cast<std::size_t>(stages.front())];
    groups[static_cast<std::size_t>(first)].ranks.push_back(rank);
  }
  std::erase_if(groups, [](const StageGroup& each) { return each.stages.empty(); });
  return groups;
}

}  // namespace pipetrace
