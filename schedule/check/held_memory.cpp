#include "schedule/check/held_memory.h"

#include <algorithm>

namespace pipetrace {

HeldFor whatActivationsAreHeldFor(const Plan& plan) {
  if (!plan.isForwardOnly()) return HeldFor::kBackward;
  for (const auto& actions : plan.ranks) {
    for (const Action& action : actions) {
      if (isTransfer(action.kind)) return HeldFor::kSend;
    }
  }
  return HeldFor::kNextForward;
}

HeldMemory::HeldMemory(const Plan& plan, HeldFor heldFor, const Costs& costs, std::int64_t weights,
                       int rank)
    : plan_(plan), heldFor_(heldFor), costs_(costs), memory_(weights) {
  for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
    if (action.kind != JobKind::kRecompute) continue;
    recomputed_.emplace_back(action.stage, action.microBatch);
  }
  std::sort(recomputed_.begin(), recomputed_.end());
}

bool HeldMemory::isRecomputed(const Action& forward) const {
  return std::binary_search(recomputed_.begin(), recomputed_.end(),
                            std::pair(forward.stage, forward.microBatch));
}

std::int64_t HeldMemory::workingOf(const Action& action) const {
  switch (action.kind) {
    case JobKind::kBackward:
    case JobKind::kBackwardInput: return costsOf(action.stage).working;
    case JobKind::kForwardBackward: return costsOf(action.backwardStage).working;
    default: return 0;
  }
}

void HeldMemory::begin(const Action& action) {
  memory_ += workingOf(action);
  if (action.kind == JobKind::kRecompute) memory_ += costsOf(action.stage).recomputed;
  if (action.kind != JobKind::kForward && action.kind != JobKind::kForwardBackward) return;
  ++live_;
  memory_ += costsOf(action.stage).activation;
}

void HeldMemory::end(const Action& action) {
  memory_ -= workingOf(action);
  const bool hasForward =
      action.kind == JobKind::kForward || action.kind == JobKind::kForwardBackward;
  if (hasForward && isRecomputed(action)) memory_ -= costsOf(action.stage).recomputed;
  if (!action.isLastPart()) return;
  switch (action.kind) {
    case JobKind::kForward:
      if (heldFor_ != HeldFor::kBackward) endForward(action);
      break;
    case JobKind::kSendForward:
      if (heldFor_ == HeldFor::kSend) free(action.stage);
      break;
    case JobKind::kBackward: free(action.stage); break;
    case JobKind::kForwardBackward: free(action.backwardStage); break;
    case JobKind::kBackwardInput: memory_ -= costsOf(action.stage).freedByInput; break;
    case JobKind::kBackwardWeight:
      --live_;
      memory_ -= costsOf(action.stage).activation - costsOf(action.stage).freedByInput;
      break;
    default: break;
  }
}

/// A stage beside that of `forward`, for the same micro-batch.
bool HeldMemory::isOnSameRank(const Action& forward, int otherStage) const {
  return otherStage >= 0 && otherStage < plan_.numStages &&
         plan_.rankOf(otherStage, forward.microBatch) ==
             plan_.rankOf(forward.stage, forward.microBatch);
}

void HeldMemory::endForward(const Action& forward) {
  if (isOnSameRank(forward, forward.stage - 1)) free(forward.stage - 1);
  const bool isLast = forward.stage + 1 == plan_.numStages;
  if (isOnSameRank(forward, forward.stage + 1)) return;
  if (isLast || heldFor_ == HeldFor::kNextForward) free(forward.stage);
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

Peaks peaksOf(const Plan& plan, HeldFor heldFor, const Costs& costs, std::int64_t weights,
              int rank) {
  HeldMemory held(plan, heldFor, costs, weights, rank);
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
