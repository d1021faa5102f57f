#include "schedule/plan.h"

#include <algorithm>

namespace pipetrace {

std::vector<int> Plan::ranksOf(int stage) const {
  std::vector<int> all;
  for (int replica = 0; replica < replicas; ++replica) {
    for (const int rank : placement.ranksOf(stage)) {
      const int number = rank + replica * ranksOfReplica();
      all.push_back(number);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<int> Plan::stagesOfRank(int rank) const {
  const int inReplica = replicas == 1 ? rank : rank % ranksOfReplica();
  std::vector<int> stages;
  for (int s = 0; s < static_cast<int>(placement.numStages()); ++s) {
    if (placement.holds(inReplica, s)) stages.push_back(s);
  }
  return stages;
}

std::vector<std::vector<int>> Plan::stagesByRank() const {
  std::vector<std::vector<int>> stages(ranks.size());
  for (int s = 0; s < static_cast<int>(placement.numStages()); ++s) {
    for (const int rank : ranksOf(s)) {
      if (rank < 0 || rank >= numRanks()) continue;
      auto& list = stages[static_cast<std::size_t>(rank)];
      if (list.empty() || list.back() != s) list.push_back(s);
    }
  }
  return stages;
}

int Plan::chunkOfStage(int stage) const {
  const int rank = placement.firstRankOf(stage);
  int chunk = 0;
  for (int s = 0; s < stage; ++s) chunk += placement.holds(rank, s) ? 1 : 0;
  return chunk;
}

int Plan::numChunks() const {
  std::size_t chunks = 0;
  for (const std::vector<int>& stages : stagesByRank()) chunks = std::max(chunks, stages.size());
  return static_cast<int>(chunks);
}

int Plan::chunksOfDirection() const {
  return isBidirectional() ? numStages / std::max(ranksOfReplica(), 1) : numChunks();
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

bool Plan::hasMessages() const {
  const int turns = placement.hasSeveralRanks() ? microBatchesOfReplica() : 1;
  for (int s = 0; s + 1 < numStages; ++s) {
    for (int m = 0; m < turns; ++m) {
      if (placement.rankOf(s, m) != placement.rankOf(s + 1, m)) return true;
    }
  }
  return false;
}

bool Plan::hasRecomputes() const {
  return hasAny([](JobKind kind) { return kind == JobKind::kRecompute; });
}

}  // namespace pipetrace
