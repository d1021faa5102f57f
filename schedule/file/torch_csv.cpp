#include "schedule/file/torch_csv.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "schedule/check/plan_index.h"
#include "schedule/file/schedule_file.h"
#include "schedule/with_reductions.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

void requireWholeSteps(const Plan& plan, const std::string& who) {
  if (plan.placement.hasSeveralRanks() || plan.replicas > 1) {
    throw Error(who + "its stages are on several ranks, and in torch on one each");
  }
  if (plan.isAsynchronous()) {
    throw Error(who +
                "it is asynchronous, and torch changes the weights once a step, after all "
                "micro-batches");
  }
  if (plan.isForwardOnly()) {
    throw Error(who + "it has no backward passes, and torch wants one for each forward");
  }
}

void requireKnownCells(const Plan& plan, const std::string& who) {
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const std::vector<int> stages = plan.stagesOfRank(rank);
    const auto& row = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Action& action = row[i];
      if (isScalarAllReduce(action.kind)) continue;
      const std::string cell =
          toText(action) + " (rank " + std::to_string(rank) + ", cell " + std::to_string(i) + ")";
      if (action.kind == JobKind::kRecompute)
        throw Error(who + "torch has no recompute like " + cell);
      if (action.isPart()) throw Error(who + "torch has no backward in parts like " + cell);
      const bool isOwn = std::binary_search(stages.begin(), stages.end(), action.stage);
      if (isOwn) continue;
      throw Error(who + cell + " is on another rank than its stage, which torch refuses");
    }
  }
}

void requireMessages(const Plan& plan, const std::string& who) {
  const PlanIndex index(plan);
  if (index.hasTransfers()) return;
  for (int stage = 0; stage + 1 < plan.numStages; ++stage) {
    if (!index.crossesRanks({.forward = true, .from = stage, .microBatch = 0})) continue;
    throw Error(who +
                "it has no sends and receives, which torch wants in the file; add them with "
                "--transfers in-time");
  }
}

/// torch knows no buckets, and scales the gradients at each REDUCE_GRAD: the last one stays.
void inOneBucket(std::vector<Action>& row) {
  const auto isOfBucket = [](const Action& action) {
    return action.kind == JobKind::kReduceScatter && action.microBatch >= 0;
  };
  std::set<int> seen;
  std::vector<Action> kept;
  for (auto action = row.rbegin(); action != row.rend(); ++action) {
    if (isOfBucket(*action) && !seen.insert(action->stage).second) continue;
    kept.push_back(*action);
    if (isOfBucket(*action)) kept.back().microBatch = -1;
  }
  row.assign(kept.rbegin(), kept.rend());
}

}  // namespace

std::string toTorchCsv(const CheckedPlan& plan) {
  const std::string who = "cannot write " + plan->name + " for torch: ";
  requireWholeSteps(*plan, who);
  requireKnownCells(*plan, who);
  requireMessages(*plan, who);
  std::vector<std::vector<Action>> rows;
  for (const auto& row : plan->ranks) {
    std::vector<Action>& own = rows.emplace_back(withReductions(row, [](int) { return true; }));
    std::erase_if(own, [](const Action& action) { return isScalarAllReduce(action.kind); });
    inOneBucket(own);
  }
  return rowsText(rows);
}

}  // namespace pipetrace
