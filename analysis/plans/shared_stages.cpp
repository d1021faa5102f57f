#include "analysis/plans/shared_stages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace pipetrace {
namespace {

using StageRanks = std::vector<std::vector<int>>;

/// By rank: the stage of its actions. Nothing where a rank has no actions, or those of several
/// stages.
std::optional<StageRanks> ranksWithOneStage(const Plan& plan) {
  StageRanks ranks(static_cast<std::size_t>(plan.numStages));
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const std::vector<Action>& row = plan.ranks[static_cast<std::size_t>(rank)];
    const auto isOther = [&](const Action& action) {
      const bool isPair = action.kind == JobKind::kForwardBackward;
      return action.stage != row.front().stage || (isPair && action.backwardStage != action.stage);
    };
    if (row.empty() || std::any_of(row.begin(), row.end(), isOther)) return std::nullopt;
    ranks[static_cast<std::size_t>(row.front().stage)].push_back(rank);
  }
  return ranks;
}

/// Whose turn a rank has most often, of `turns`.
std::size_t turnOf(const std::vector<Action>& row, std::size_t turns) {
  std::vector<std::int64_t> counts(turns);
  for (const Action& action : row) ++counts[static_cast<std::size_t>(action.microBatch) % turns];
  return static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

/// Puts the ranks of a stage in the order of their turns; false: two have the same.
bool putInTurns(const Plan& plan, std::vector<int>& ranks) {
  std::vector<int> ordered(ranks.size(), -1);
  for (const int rank : ranks) {
    int& place = ordered[turnOf(plan.ranks[static_cast<std::size_t>(rank)], ranks.size())];
    if (std::exchange(place, rank) >= 0) return false;
  }
  ranks = std::move(ordered);
  return true;
}

}  // namespace

bool placeSharedStages(Plan& plan, const StageRanks& stated) {
  if (plan.numRanks() <= plan.numStages || plan.numStages < 1) return false;
  std::size_t count = 0;
  for (const std::vector<int>& ranks : stated) count += ranks.size();
  if (count == plan.ranks.size() && std::ssize(stated) == plan.numStages) {
    plan.placement = {.ranksOfStage = stated, .run = 1};
    return true;
  }
  std::optional<StageRanks> found = ranksWithOneStage(plan);
  if (!found) return false;
  const bool takeTurns = std::all_of(found->begin(), found->end(), [&](std::vector<int>& ranks) {
    return !ranks.empty() && putInTurns(plan, ranks);
  });
  if (takeTurns) plan.placement = {.ranksOfStage = std::move(*found), .run = 1};
  return takeTurns;
}

bool hasSharedStages(const Plan& plan) {
  return plan.numRanks() > plan.numStages && plan.placement.hasSeveralRanks() &&
         plan.placement.run == 1;
}

}  // namespace pipetrace
