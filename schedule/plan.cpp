#include "schedule/plan.h"

#include <algorithm>

namespace pipetrace {

std::vector<int> Plan::stagesOfRank(int rank) const {
  std::vector<int> stages;
  for (std::size_t s = 0; s < rankOfStage.size(); ++s) {
    const bool reversed = isBidirectional() && rankOfStageReversed[s] == rank;
    if (reversed || rankOfStage[s] == rank) stages.push_back(static_cast<int>(s));
  }
  return stages;
}

std::vector<std::vector<int>> Plan::stagesByRank() const {
  std::vector<std::vector<int>> stages(ranks.size());
  const auto add = [&](int rank, std::size_t stage) {
    if (rank < 0 || rank >= numRanks()) return;
    auto& list = stages[static_cast<std::size_t>(rank)];
    const int number = static_cast<int>(stage);
    if (list.empty() || list.back() != number) list.push_back(number);
  };
  for (std::size_t s = 0; s < rankOfStage.size(); ++s) {
    add(rankOfStage[s], s);
    if (isBidirectional()) add(rankOfStageReversed[s], s);
  }
  return stages;
}

int Plan::chunkOfStage(int stage) const {
  const int rank = rankOfStage[static_cast<std::size_t>(stage)];
  int chunk = 0;
  for (std::size_t s = 0; s < static_cast<std::size_t>(stage); ++s) {
    const bool reversed = isBidirectional() && rankOfStageReversed[s] == rank;
    if (reversed || rankOfStage[s] == rank) ++chunk;
  }
  return chunk;
}

int Plan::numChunks() const {
  std::size_t chunks = 0;
  for (const std::vector<int>& stages : stagesByRank()) chunks = std::max(chunks, stages.size());
  return static_cast<int>(chunks);
}

bool Plan::isForwardOnly() const {
  return std::all_of(ranks.begin(), ranks.end(), [](const std::vector<Action>& actions) {
    return std::all_of(actions.begin(), actions.end(), [](const Action& action) {
      return action.kind == JobKind::kForward || action.kind == JobKind::kRecompute ||
             !isCompute(action.kind);
    });
  });
}

bool Plan::hasAny(bool (*isSuch)(JobKind kind)) const {
  return std::any_of(ranks.begin(), ranks.end(), [&](const std::vector<Action>& actions) {
    return std::any_of(actions.begin(), actions.end(),
                       [&](const Action& action) { return isSuch(action.kind); });
  });
}

bool Plan::hasRecomputes() const {
  return hasAny([](JobKind kind) { return kind == JobKind::kRecompute; });
}

}  // namespace pipetrace
