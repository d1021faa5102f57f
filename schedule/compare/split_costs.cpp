#include "schedule/compare/split_costs.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "schedule/backward_parts.h"

namespace pipetrace {
namespace {

/// Part `part` of a share.
StageCosts partOf(const StageCosts& share, int part, int chunks, bool hasMemory) {
  const auto cut = [&](std::int64_t whole) {
    return cutOfParts(whole, part + 1, chunks) - cutOfParts(whole, part, chunks);
  };
  StageCosts costs = share;
  costs.forward = cut(share.forward);
  costs.backward = cut(share.backward);
  costs.backwardInput = cut(share.backwardInput);
  costs.backwardWeight = cut(share.backwardWeight);
  const bool isSumOfHalves = share.backward == share.backwardInput + share.backwardWeight;
  if (isSumOfHalves) costs.backward = costs.backwardInput + costs.backwardWeight;
  if (share.forwardBackward >= 0) costs.forwardBackward = cut(share.forwardBackward);
  costs.recompute = cut(share.recompute);
  costs.reduction = cut(share.reduction);
  costs.blocks = cut(share.blocks);
  if (!hasMemory) {
    costs.activation = 1;
    return costs;
  }
  for (std::int64_t StageCosts::*const held : {&StageCosts::activation, &StageCosts::freedByInput,
                                               &StageCosts::recomputed, &StageCosts::weights}) {
    costs.*held = share.*held / chunks;
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

Costs splitOverChunks(const Costs& shares, int chunks, bool hasMemory) {
  Costs costs = shares;
  costs.stages.clear();
  for (const StageCosts& share : shares.stages) {
    for (int part = 0; part < chunks; ++part) {
      costs.stages.push_back(partOf(share, part, chunks, hasMemory));
    }
  }
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
