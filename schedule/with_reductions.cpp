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

using ReductionsByCell = std::map<int, std::vector<Action>>;

/// The row of a rank with reductions behind its cells, and behind the sends right after these.
std::vector<Action> withReductionsAfter(const std::vector<Action>& row,
                                        const ReductionsByCell& after) {
  std::vector<Action> result;
  std::vector<Action> due;
  const auto addDue = [&] {
    result.insert(result.end(), due.begin(), due.end());
    due.clear();
  };
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!isSend(row[i].kind)) addDue();
    result.push_back(row[i]);
    const auto found = after.find(static_cast<int>(i));
    if (found != after.end()) due.insert(due.end(), found->second.begin(), found->second.end());
  }
  addDue();
  return result;
}

/// Adds the reductions of a stage whose last backward is at `cell`: behind each of its parts, else
/// as many as there are buckets.
void addReductions(const std::vector<Action>& row, int stage, std::size_t cell, int buckets,
                   ReductionsByCell& after) {
  const Action& last = row[cell];
  if (!last.isPart()) {
    for (int bucket = 0; bucket < buckets; ++bucket) {
      after[static_cast<int>(cell)].push_back(
          {JobKind::kReduceScatter, stage, buckets == 1 ? -1 : bucket});
    }
    return;
  }
  for (std::size_t i = 0; i <= cell; ++i) {
    const bool isOfIt = row[i].isPart() && row[i].kind == last.kind && row[i].stage == stage &&
                        row[i].microBatch == last.microBatch;
    if (isOfIt) {
      after[static_cast<int>(i)].push_back({JobKind::kReduceScatter, stage, row[i].part});
    }
  }
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
  std::vector<ReductionsByCell> after(plan.ranks.size());
  for (const WeightVersions::Update& update : weightVersions(plan).updates) {
    if (!isReduced(update.stage)) continue;
    after[static_cast<std::size_t>(update.after.rank)][update.after.cell].push_back(
        {JobKind::kReduceScatter, update.stage, -1});
  }
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    plan.ranks[r] = withReductionsAfter(plan.ranks[r], after[r]);
  }
  return plan;
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
  ReductionsByCell after;
  for (const auto& [stage, cell] : last) {
    if (reduced.contains(stage) || !isReduced(stage)) continue;
    addReductions(row, stage, cell, buckets, after);
  }
  return withReductionsAfter(row, after);
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

Plan withScalarAllReduce(Plan plan, const std::string& who) {
  requireAgrees(plan, who);
  if (plan.hasAny(isScalarAllReduce)) return plan;
  for (std::vector<Action>& row : plan.ranks) row.push_back({JobKind::kAllReduce, kAllStages, -1});
  return plan;
}

Plan asRanksRun(Plan plan) {
  for (std::vector<Action>& row : plan.ranks) {
    std::erase_if(row, [&](const Action& action) {
      if (!isDataParallel(action.kind) || isScalarAllReduce(action.kind)) return false;
      const bool isReduction = action.kind == JobKind::kReduceScatter && action.stage >= 0 &&
                               action.stage < plan.numStages;
      return !isReduction || plan.ranksOf(action.stage).size() < 2;
    });
  }
  return withReductions(std::move(plan));
}

std::vector<Action> withoutDataParallel(std::vector<Action> row) {
  std::erase_if(row, [](const Action& action) { return isDataParallel(action.kind); });
  return row;
}

Plan withoutDataParallel(Plan plan) {
  for (std::vector<Action>& row : plan.ranks) row = withoutDataParallel(std::move(row));
  return plan;
}

}  // namespace pipetrace
