#pragma once

#include "schedule/action.h"

namespace pipetrace {

/// Whether the action runs that pass of a stage.
inline bool runs(const Action& action, bool forward, int stage) {
  const bool isPair = action.kind == JobKind::kForwardBackward;
  if (forward) return (isPair || action.kind == JobKind::kForward) && action.stage == stage;
  if (isPair) return action.backwardStage == stage;
  const bool isBackward =
      action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardInput;
  return isBackward && action.stage == stage;
}

/// The micro-batch of its forward part, or of its backward part.
inline int microBatchOf(const Action& action, bool forward) {
  const bool isPair = action.kind == JobKind::kForwardBackward;
  return isPair && !forward ? action.backwardMicroBatch : action.microBatch;
}

}  // namespace pipetrace
