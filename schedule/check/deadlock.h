#pragma once

#include <optional>

#include "schedule/check/plan_network.h"
#include "schedule/check/problem.h"

namespace pipetrace {

/// The cycle of actions that keeps a plan from its end. The plan of the network has no other
/// problems. `ofComputeOnly`: its sends and receives have been added, and cells are reported as
/// those of the plan without them.
std::optional<Problem> findDeadlock(const PlanNetwork& network, bool ofComputeOnly = false);

}  // namespace pipetrace
