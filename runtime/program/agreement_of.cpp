#include "runtime/program/agreement_of.h"

#include <string>
#include <vector>

namespace pipetrace {

RankProgram::Agreement agreementOf(const Plan& plan, int rank,
                                   const std::function<int(bool sends, int peer)>& laneTo) {
  std::vector<std::vector<int>> stages(plan.ranks.size());  // by the first of their ranks
  for (int stage = 0; stage < plan.numStages; ++stage) {
    stages[static_cast<std::size_t>(plan.placement.firstRankOf(stage))].push_back(stage);
  }
  RankProgram::Agreement own{.stages = stages[static_cast<std::size_t>(rank)]};
  const MessageKey key{.direction = kAgreementLane.direction, .tensor = kAgreementLane.tensor};
  const auto endsWith = [&](int peer) {
    return RankProgram::Agreement::Ends{.send = {.lane = laneTo(true, peer), .key = key},
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

}  // namespace pipetrace
