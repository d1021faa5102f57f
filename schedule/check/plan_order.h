#pragma once

#include <vector>

#include "schedule/check/plan_queues.h"
#include "schedule/check/wait_rules.h"

namespace pipetrace {

/// An order in which all actions of a plan can run one by one. Each comes after the actions it
/// waits for and after the action before it in its queue.
struct PlanOrder {
  std::vector<PlanIndex::Position> order;
  /// done[q] = the number of actions of queue q in `order`. If the queue has more, it is stuck on
  /// the next one.
  std::vector<int> done;
  bool complete = false;
};

/// The plan of both has no problems. Linear in the number of actions.
PlanOrder planOrder(const PlanQueues& queues, const WaitRules& rules);
/// With unbounded buffers and the plan's credits. `index` must be that of `plan`, without problems.
PlanOrder planOrder(const Plan& plan, const PlanIndex& index,
                    CommStreams commStreams = CommStreams::kAsReached);

}  // namespace pipetrace
