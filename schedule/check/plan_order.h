#pragma once

#include <vector>

#include "schedule/check/wait_rules.h"

namespace pipetrace {

/// An order in which all actions of a plan can run one by one. Each comes after the actions it
/// waits for and after the action before it on its rank.
struct PlanOrder {
  std::vector<PlanIndex::Position> order;
  /// done[r] = the number of actions of rank r in `order`. If the rank has more, it is stuck on the
  /// next one.
  std::vector<int> done;
  bool complete = false;
};

/// `index` must be that of `plan`, without problems. Linear in the number of actions.
PlanOrder planOrder(const Plan& plan, const WaitRules& rules);
/// With unbounded buffers and the plan's credits.
PlanOrder planOrder(const Plan& plan, const PlanIndex& index);

}  // namespace pipetrace
