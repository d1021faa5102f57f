#pragma once

#include <utility>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// The forwards of a plan alone, in their order, with the messages between them where the plan has
/// these: what torch.distributed.pipelining's eval() runs of a schedule. A fused pair leaves its
/// forward, a recompute nothing. Data-parallel actions on parameters stay, those on gradients go.
/// Updates of the weights are dropped, credits and the placement stay. The name is "forward part of
/// 1F1B"; a plan without backward passes is returned as it is.
inline Plan forwardPart(const Plan& plan) {
  if (plan.isForwardOnly()) return plan;
  const auto isOfParameters = [](JobKind kind) {
    return isDataParallel(kind) && kind != JobKind::kReduceScatter && !isScalarAllReduce(kind);
  };
  Plan part = plan;
  part.name = "forward part of " + plan.name;
  part.updates = {};
  for (std::vector<Action>& actions : part.ranks) {
    std::vector<Action> forwards;
    for (const Action& action : actions) {
      const bool isPair = action.kind == JobKind::kForwardBackward;
      if (isPair || action.kind == JobKind::kForward) {
        forwards.push_back({JobKind::kForward, action.stage, action.microBatch});
      } else if (isForwardTransfer(action.kind) || isOfParameters(action.kind)) {
        forwards.push_back(action);
      }
    }
    actions = std::move(forwards);
  }
  return part;
}

}  // namespace pipetrace
