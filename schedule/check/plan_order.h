#pragma once

#include <vector>

#include "schedule/check/wait_rules.h"

namespace pipetrace {

/// An order in which all actions of a plan can run, one by one, each after what it waits for and
/// after the action before it on its rank.
struct PlanOrder {
  std::vector<PlanIndex::Position> order;
  /// done[r] = how many actions of rank r are in `order`; fewer than it has: the rank is stuck on
  /// the next one.
  std::vector<int> done;
  bool complete = false;
};

/// `index` must be that of `plan`, without problems. Linear in the number of actions.
PlanOrder planOrder(const Plan& plan, const WaitRules& rules);
PlanOrder planOrder(const Plan& plan, const PlanIndex& index);

}  // namespace pipetrace
