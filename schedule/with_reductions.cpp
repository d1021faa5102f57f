#include "schedule/with_reductions.h"

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "schedule/check/update_meetings.h"
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

/// The row of a rank; `stages` by cell: whose gradients are reduced after it.
std::vector<Action> withReductionsAfter(const std::vector<Action>& row,
                                        const std::map<int, std::vector<int>>& stages,
                                        int buckets) {
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
    const auto found = stages.find(static_cast<int>(i));
    if (found != stages.end()) due.insert(due.end(), found->second.begin(), found->second.end());
  }
  addDue();
  return result;
}

Plan withReductionsAtUpdates(Plan plan) {
  if (!UpdateMeetings::exist(plan) || wrongUpdates(plan)) return plan;
  if (!PlanIndex(plan).problems().empty()) return plan;
  const auto isReduced = [&](int stage) {
    return stage >= 0 && stage < plan.numStages && plan.ranksOf(stage).size() > 1;
  };
  for (std::vector<Action>& row : plan.ranks) {
    std::erase_if(row, [&](const Action& action) {
      return action.kind == JobKind::kReduceScatter && isReduced(action.stage);
    });
  }
  std::vector<std::map<int, std::vector<int>>> stages(plan.ranks.size());  // by rank and cell
  for (const WeightVersions::Update& update : weightVersions(plan).updates) {
    if (!isReduced(update.stage)) continue;
    stages[static_cast<std::size_t>(update.after.rank)][update.after.cell].push_back(update.stage);
  }
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    plan.ranks[r] = withReductionsAfter(plan.ranks[r], stages[r], 1);
  }
  return plan;
}

}  // namespace

std::vector<Action> withReductions(const std::vector<Action>& row,
                                   const std::function<bool(int stage)>& isReduced, int buckets) {
  std::set<int> reduced;
  std::map<int, int> last;  // by stage
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].kind == JobKind::kReduceScatter) reduced.insert(row[i].stage);
    if (const int stage = stageThatMayEnd(row[i]); stage >= 0) last[stage] = static_cast<int>(i);
  }
  std::map<int, std::vector<int>> stages;
  for (const auto& [stage, cell] : last) {
    if (!reduced.contains(stage) && isReduced(stage)) stages[cell].push_back(stage);
  }
  return withReductionsAfter(row, stages, buckets);
}

Plan withReductions(Plan plan, int buckets) {
  if (plan.isAsynchronous() && buckets > 1) {
    throw Error("the plan " + plan.name +
                " changes its weights without a flush: its gradients are reduced in one bucket");
  }
  if (plan.isAsynchronous()) return withReductionsAtUpdates(std::move(plan));
  for (std::vector<Action>& row : plan.ranks) {
    row = withReductions(
        row, [&](int stage) { return plan.ranksOf(stage).size() > 1; }, buckets);
  }
  return plan;
}

void requireAgrees(const Plan& plan, const std::string& who) {
  if (plan.isAsynchronous()) {
    throw Error(who + ": the plan " + plan.name +
                " changes the weights of each stage by themselves, without a flush, so there is no "
                "time at which all ranks have their gradients");
  }
  if (plan.isForwardOnly()) {
    throw Error(who + ": the plan " + plan.name + " has no backward, and so no gradients");
  }
}

Plan withAgreement(Plan plan, const std::string& who) {
  requireAgrees(plan, who);
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
