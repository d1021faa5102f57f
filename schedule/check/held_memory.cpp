#include "schedule/check/held_memory.h"

#include <algorithm>

namespace pipetrace {

void HeldMemory::begin(const Action& action) {
  if (action.kind != JobKind::kForward && action.kind != JobKind::kForwardBackward) return;
  ++live_;
  memory_ += costsOf(action.stage).activation;
}

void HeldMemory::end(const Action& action) {
  switch (action.kind) {
    case JobKind::kBackward:
      --live_;
      memory_ -= costsOf(action.stage).activation;
      break;
    case JobKind::kForwardBackward:
      --live_;
      memory_ -= costsOf(action.backwardStage).activation;
      break;
    case JobKind::kBackwardInput: memory_ -= costsOf(action.stage).freedByInput; break;
    case JobKind::kBackwardWeight:
      --live_;
      memory_ -= costsOf(action.stage).activation - costsOf(action.stage).freedByInput;
      break;
    default: break;
  }
}

std::vector<std::int64_t> weightsByRank(const Plan& plan, const Costs& costs,
                                        const WeightVersions& versions) {
  std::vector<std::int64_t> weights;
  for (const std::vector<int>& stages : plan.stagesByRank()) {
    std::int64_t sum = 0;
    for (const int stage : stages) {
      const auto s = static_cast<std::size_t>(stage);
      sum += costs.stages[s].weights * versions.stages[s].held;
    }
    weights.push_back(sum);
  }
  return weights;
}

Peaks peaksOf(const Plan& plan, const Costs& costs, std::int64_t weights, int rank) {
  HeldMemory held(costs, weights);
  Peaks peaks{.live = 0, .memory = weights};
  for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
    held.begin(action);
    peaks.live = std::max(peaks.live, held.live());
    peaks.memory = std::max(peaks.memory, held.memory());
    held.end(action);
  }
  return peaks;
}

}  // namespace pipetrace
