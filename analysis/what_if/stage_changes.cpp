#include "analysis/what_if/stage_changes.h"

#include <cmath>

namespace pipetrace {

Nanoseconds& timeOf(StageCosts& stage, JobKind kind) {
  switch (kind) {
    case JobKind::kForward: return stage.forward;
    case JobKind::kBackward: return stage.backward;
    case JobKind::kBackwardInput: return stage.backwardInput;
    case JobKind::kBackwardWeight: return stage.backwardWeight;
    case JobKind::kForwardBackward: return stage.forwardBackward;
    default: return stage.recompute;
  }
}

void splitBackward(StageCosts& stage, double inputShare, bool isAsked) {
  const bool isSplit = stage.backwardInput > 0 || stage.backwardWeight > 0;
  if (isSplit && !isAsked) return;
  stage.backwardInput = std::llround(static_cast<double>(stage.backward) * inputShare);
  stage.backwardWeight = stage.backward - stage.backwardInput;
}

void balanceStages(Costs& costs) {
  for (const JobKind kind : kStageKinds) {
    Nanoseconds sum = 0;
    Nanoseconds count = 0;
    for (StageCosts& stage : costs.stages) {
      const Nanoseconds time = timeOf(stage, kind);
      if (time <= 0) continue;
      sum += time;
      ++count;
    }
    for (StageCosts& stage : costs.stages) {
      if (timeOf(stage, kind) > 0) timeOf(stage, kind) = sum / count;
    }
  }
}

void scaleMicroBatch(StageCosts& stage, double size) {
  for (const JobKind kind : kStageKinds) {
    Nanoseconds& time = timeOf(stage, kind);
    if (time > 0) time = std::llround(static_cast<double>(time) * size);
  }
  for (std::int64_t StageCosts::*const held :
       {&StageCosts::activation, &StageCosts::freedByInput, &StageCosts::recomputed}) {
    stage.*held = std::llround(static_cast<double>(stage.*held) * size);
  }
}

}  // namespace pipetrace
