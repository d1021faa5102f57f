#include "schedule/with_recompute.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

using Work = std::pair<int, int>;  // stage, micro-batch

/// The micro-batches of a row that are recomputed already, sorted.
std::vector<Work> recomputedIn(const std::vector<Action>& actions) {
  std::vector<Work> found;
  for (const Action& action : actions) {
    if (action.kind == JobKind::kRecompute) found.emplace_back(action.stage, action.microBatch);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Plan withRecompute(const Plan& plan, const std::vector<bool>& stages) {
  Plan result = plan;
  for (std::vector<Action>& actions : result.ranks) {
    const std::vector<Work> already = recomputedIn(actions);
    const auto isWanted = [&](int stage, int microBatch) {
      return stage >= 0 && static_cast<std::size_t>(stage) < stages.size() &&
             stages[static_cast<std::size_t>(stage)] &&
             !std::binary_search(already.begin(), already.end(), Work(stage, microBatch));
    };
    std::vector<Action> row;
    row.reserve(actions.size());
    for (const Action& action : actions) {
      const bool isPair = action.kind == JobKind::kForwardBackward;
      const int stage = isPair ? action.backwardStage : action.stage;
      const int microBatch = isPair ? action.backwardMicroBatch : action.microBatch;
      const bool startsBackward =
          isPair || action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardInput;
      if (startsBackward && action.isFirstPart() && isWanted(stage, microBatch)) {
        row.push_back({JobKind::kRecompute, stage, microBatch});
      }
      row.push_back(action);
    }
    actions = std::move(row);
  }
  return result;
}

Costs withRecomputeInBackwards(Costs costs) {
  for (StageCosts& stage : costs.stages) {
    stage.backward += stage.recompute;
    stage.backwardInput += stage.recompute;
  }
  return costs;
}

}  // namespace pipetrace
