#include "schedule/forward_part.h"

#include <utility>

namespace pipetrace {
namespace {

bool isOfParameters(JobKind kind) {
  return isDataParallel(kind) && kind != JobKind::kReduceScatter && !isScalarAllReduce(kind);
}

}  // namespace

Plan forwardPart(const Plan& plan) {
  if (plan.isForwardOnly()) return plan;
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
