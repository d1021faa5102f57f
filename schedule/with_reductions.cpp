#include "schedule/with_reductions.h"

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

/// The stage whose backward or weight half an action is; below 0: of none. Whether it is the last
/// is seen later.
int stageThatMayEnd(const Action& action) {
  switch (action.kind) {
    case JobKind::kBackward:
    case JobKind::kBackwardWeight: return action.stage;
    case JobKind::kForwardBackward: return action.backwardStage;
    default: return -1;
  }
}

}  // namespace

std::vector<Action> withReductions(const std::vector<Action>& row,
                                   const std::function<bool(int stage)>& isReduced, int buckets) {
  std::set<int> reduced;
  std::map<int, std::size_t> last;  // by stage
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].kind == JobKind::kReduceScatter) reduced.insert(row[i].stage);
    if (const int stage = stageThatMayEnd(row[i]); stage >= 0) last[stage] = i;
  }
  std::vector<Action> result;
  std::vector<int> due;
  const auto addDue = [&] {
    for (const int stage : due) {
      for (int bucket = 0; bucket < buckets; ++bucket) {
        result.push_back({JobKind::kReduceScatter, stage, buckets == 1 ? -1 : bucket});
      }
    }
    due.clear();
  };
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!isSend(row[i].kind)) addDue();
    result.push_back(row[i]);
    const int stage = stageThatMayEnd(row[i]);
    if (stage < 0 || last[stage] != i || reduced.contains(stage)) continue;
    if (isReduced(stage)) due.push_back(stage);
  }
  addDue();
  return result;
}

Plan withReductions(Plan plan, int buckets) {
  for (std::vector<Action>& row : plan.ranks) {
    row = withReductions(
        row, [&](int stage) { return plan.ranksOf(stage).size() > 1; }, buckets);
  }
  return plan;
}

void requireAgrees(const Plan& plan, const std::string& who) {
  if (plan.updates.every > 0) {
    throw Error(who + ": the plan " + plan.name +
                " changes the weights of each stage by themselves, without a flush, so there is no "
                "time at which all ranks have their gradients");
  }
  if (plan.isForwardOnly()) {
    throw Error(who + ": the plan " + plan.name + " has no backward, and so no gradients");
  }
}

Plan withAgreement(Plan plan) {
  requireAgrees(plan, "an agreement of all ranks");
  if (plan.hasAny(isAgreement)) return plan;
  for (std::vector<Action>& row : plan.ranks) row.push_back({JobKind::kAllReduce, kAllStages, -1});
  return plan;
}

Plan asRanksRun(Plan plan) {
  for (std::vector<Action>& row : plan.ranks) {
    std::erase_if(row, [&](const Action& action) {
      if (!isDataParallel(action.kind) || isAgreement(action.kind)) return false;
      const bool isReduction = action.kind == JobKind::kReduceScatter && action.stage >= 0 &&
                               action.stage < plan.numStages;
      return !isReduction || plan.ranksOf(action.stage).size() < 2;
    });
  }
  return withReductions(std::move(plan));
}

}  // namespace pipetrace
