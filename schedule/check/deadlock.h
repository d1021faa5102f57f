#pragma once

#include <optional>

#include "schedule/check/plan_order.h"

namespace pipetrace {

/// The cycle of actions that keeps a plan from its end. `plan` has no other problems, and the
/// rules and queues are its own. `ofComputeOnly`: its sends and receives have been added, and cells
/// are reported as those of the plan without them.
std::optional<Problem> findDeadlock(const Plan& plan, const PlanIndex& index,
                                    const WaitRules& rules, const PlanQueues& queues,
                                    bool ofComputeOnly = false);

}  // namespace pipetrace
