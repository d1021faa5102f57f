#include "schedule/plan.h"

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
