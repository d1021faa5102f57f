#include "runtime/program/host_sums.h"

#include <algorithm>
#include <string>
#include <vector>

namespace pipetrace {

RankProgram::ScalarAllReduce scalarAllReduceOf(const Plan& plan, int rank, const LaneTo& laneTo) {
  std::vector<std::vector<int>> stages(plan.ranks.size());  // by the first of their ranks
  for (int stage = 0; stage < plan.numStages; ++stage) {
    stages[static_cast<std::size_t>(plan.placement.firstRankOf(stage))].push_back(stage);
  }
  RankProgram::ScalarAllReduce own{.stages = stages[static_cast<std::size_t>(rank)]};
  const MessageKey key{.kind = MessageKind::kScalarAllReduce};
  const auto endsWith = [&](int peer) {
    return RankProgram::ScalarAllReduce::Ends{.send = {.lane = laneTo(true, peer), .key = key},
                                              .receive = {.lane = laneTo(false, peer), .key = key}};
  };
  for (int other = 0; other < plan.numRanks(); ++other) {
    own.members += (other == 0 ? "" : " ") + std::to_string(other);
    if (rank != 0 || other == 0) continue;
    own.others.push_back({stages[static_cast<std::size_t>(other)], endsWith(other)});
  }
  if (rank != 0) own.root = endsWith(0);
  return own;
}

std::optional<RankProgram::LossSum> lossSumOf(const Plan& plan, bool hasMetrics, int rank,
                                              const LaneTo& laneTo) {
  const std::vector<int> ranks = plan.ranksOf(plan.numStages - 1);
  const bool isOne = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  const bool isNeeded = plan.isForwardOnly() || hasMetrics;
  if (ranks.size() == 1 || !isOne || !isNeeded) return std::nullopt;
  const MessageKey key{.kind = MessageKind::kLosses};
  RankProgram::LossSum own;
  const int first = plan.lastRankOf(0);
  if (rank != first) {
    own.to = {.lane = laneTo(true, first), .key = key};
    return own;
  }
  for (const int other : ranks) {
    if (other == first) continue;
    own.from.push_back({.opensReplica = other == plan.lastRankOf(plan.replicaOf(other)),
                        .message = {.lane = laneTo(false, other), .key = key}});
  }
  return own;
}

}  // namespace pipetrace
