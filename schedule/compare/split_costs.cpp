#include "schedule/compare/split_costs.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "schedule/backward_parts.h"

namespace pipetrace {
namespace {

constexpr std::int64_t StageCosts::*kHeld[] = {&StageCosts::activation, &StageCosts::freedByInput,
                                               &StageCosts::recomputed, &StageCosts::weights};

/// The costs of a stage from one of its `parts` equal parts to before another one.
StageCosts between(const StageCosts& stage, int begin, int end, int parts) {
  const auto cut = [&](std::int64_t whole) {
    return cutOfParts(whole, end, parts) - cutOfParts(whole, begin, parts);
  };
  StageCosts costs = stage;
  costs.forward = cut(stage.forward);
  costs.backward = cut(stage.backward);
  costs.backwardInput = cut(stage.backwardInput);
  costs.backwardWeight = cut(stage.backwardWeight);
  const bool isSumOfHalves = stage.backward == stage.backwardInput + stage.backwardWeight;
  if (isSumOfHalves) costs.backward = costs.backwardInput + costs.backwardWeight;
  if (stage.forwardBackward >= 0) costs.forwardBackward = cut(stage.forwardBackward);
  costs.recompute = cut(stage.recompute);
  costs.reduction = cut(stage.reduction);
  costs.blocks = cut(stage.blocks);
  for (std::int64_t StageCosts::*const held : kHeld) {
    costs.*held = cutOfParts(stage.*held, end - begin, parts);
  }
  return costs;
}

void join(StageCosts& share, const StageCosts& chunk) {
  share.forward += chunk.forward;
  share.backward += chunk.backward;
  share.backwardInput += chunk.backwardInput;
  share.backwardWeight += chunk.backwardWeight;
  const bool hasPairs = share.forwardBackward >= 0 && chunk.forwardBackward >= 0;
  share.forwardBackward = hasPairs ? share.forwardBackward + chunk.forwardBackward : -1;
  share.recompute += chunk.recompute;
  share.reduction += chunk.reduction;
  share.blocks += chunk.blocks;
  share.activation += chunk.activation;
  share.freedByInput += chunk.freedByInput;
  share.recomputed += chunk.recomputed;
  share.weights += chunk.weights;
  share.working = std::max(share.working, chunk.working);
  share.message = std::max(share.message, chunk.message);
}

}  // namespace

std::vector<StageCosts> cutStages(const std::vector<StageCosts>& stages, int count) {
  const auto before = static_cast<int>(stages.size());
  if (count == before || before == 0) return stages;
  std::vector<StageCosts> cut;
  for (int s = 0; s < count; ++s) {
    const std::size_t had = cut.size();
    // In units of which a stage has `count` before, and `before` after.
    for (int old = s * before / count; old * count < (s + 1) * before; ++old) {
      const int begin = std::max(s * before, old * count) - old * count;
      const int end = std::min((s + 1) * before, (old + 1) * count) - old * count;
      const StageCosts part = between(stages[static_cast<std::size_t>(old)], begin, end, count);
      cut.size() == had ? cut.push_back(part) : join(cut.back(), part);
    }
  }
  return cut;
}

Costs splitOverChunks(const Costs& shares, int chunks, bool hasMemory) {
  Costs costs = shares;
  costs.stages = cutStages(shares.stages, static_cast<int>(shares.stages.size()) * chunks);
  if (hasMemory) return costs;
  for (StageCosts& stage : costs.stages) stage.activation = 1;
  return costs;
}

Costs joinChunks(const Costs& stages, int chunks) {
  Costs costs = stages;
  costs.faults = {};
  costs.stages.clear();
  for (std::size_t s = 0; s < stages.stages.size(); ++s) {
    if (s % static_cast<std::size_t>(chunks) == 0) {
      costs.stages.push_back(stages.stages[s]);
    } else {
      join(costs.stages.back(), stages.stages[s]);
    }
  }
  return costs;
}

}  // namespace pipetrace
