#include "schedule/with_replicas.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "schedule/builders/placements.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

Action inReplica(Action action, int firstMicroBatch) {
  if (isDataParallel(action.kind)) return action;  // of the stage
  action.microBatch += firstMicroBatch;
  if (action.kind == JobKind::kForwardBackward) action.backwardMicroBatch += firstMicroBatch;
  return action;
}

}  // namespace

Plan withReplicas(Plan plan, int replicas) {
  if (replicas < 1) {
    throw Error(std::to_string(replicas) + " replicas are too few; a plan has at least one");
  }
  if (replicas == 1) return plan;
  if (plan.replicas > 1) {
    throw Error("the plan " + plan.name + " has " + std::to_string(plan.replicas) +
                " replicas already");
  }
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  const auto times = [&](int number) {
    return static_cast<int>(std::min(std::int64_t{number} * replicas, kMost));
  };
  requirePlanSize(plan.name, {times(plan.numRanks()), plan.numMicroBatches, 1});
  const std::vector<std::vector<Action>> first = plan.ranks;
  for (int replica = 1; replica < replicas; ++replica) {
    for (const std::vector<Action>& row : first) {
      std::vector<Action>& own = plan.ranks.emplace_back();
      own.reserve(row.size());
      for (const Action& action : row) {
        own.push_back(inReplica(action, replica * plan.numMicroBatches));
      }
    }
  }
  plan.numMicroBatches *= replicas;
  plan.replicas = replicas;
  return plan;
}

}  // namespace pipetrace
