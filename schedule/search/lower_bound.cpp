#include "schedule/search/lower_bound.h"

#include <algorithm>

namespace pipetrace {
namespace {

/// The least time that a micro-batch's backward pass takes, to the end or to its gradient.
Nanoseconds leastBackward(const StageCosts& stage) {
  return std::min(stage.backward, stage.backwardInput + stage.backwardWeight);
}
Nanoseconds leastInput(const StageCosts& stage) {
  return std::min(stage.backward, stage.backwardInput);
}

}  // namespace

PlanScore lowerBound(const Plan& shape, const Costs& costs) {
  const auto stages = static_cast<std::size_t>(shape.numStages);
  const auto hop = [&](std::size_t s) {  // from stage s to s + 1, or back
    return shape.placement.ranksOfStage[s] == shape.placement.ranksOfStage[s + 1] ? 0
                                                                                  : costs.transfer;
  };
  // From the step's start to a stage's first input, and from its last gradient to the step's end.
  std::vector<Nanoseconds> head(stages, 0);
  std::vector<Nanoseconds> tail(stages, 0);
  for (std::size_t s = 1; s < stages; ++s) {
    head[s] = head[s - 1] + costs.stages[s - 1].forward + hop(s - 1);
    const Nanoseconds below =
        s == 1 ? leastBackward(costs.stages[0]) : leastInput(costs.stages[s - 1]);
    tail[s] = hop(s - 1) + below + tail[s - 1];
  }
  PlanScore bound;
  const StageCosts& last = costs.stages[stages - 1];
  Nanoseconds wayBack = head[stages - 1] + last.forward +
                        (stages == 1 ? leastBackward(last) : leastInput(last)) + tail[stages - 1];
  for (const std::vector<int>& ofRank : shape.stagesByRank()) {
    if (ofRank.empty()) continue;
    Nanoseconds work = 0;
    Nanoseconds withoutWeights = 0;
    for (const int s : ofRank) {
      const StageCosts& stage = costs.stages[static_cast<std::size_t>(s)];
      work += (stage.forward + leastBackward(stage)) * shape.numMicroBatches;
      withoutWeights += (stage.forward + leastInput(stage)) * shape.numMicroBatches;
    }
    const auto first = static_cast<std::size_t>(ofRank.front());
    bound.length = std::max(bound.length, head[first] + work);
    wayBack = std::max(wayBack, head[first] + withoutWeights + tail[first]);
    bound.longestSpan = std::max(bound.longestSpan, work);
  }
  bound.length = std::max(bound.length, wayBack);
  // The way back ends on the rank that begins first.
  bound.longestSpan = std::max(bound.longestSpan, wayBack);
  return bound;
}

}  // namespace pipetrace
