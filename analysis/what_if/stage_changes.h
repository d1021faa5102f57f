#pragma once

#include "schedule/costs.h"
#include "trace/job_kind.h"

namespace pipetrace {

/// The kinds of jobs that a stage's costs have times of.
inline constexpr JobKind kStageKinds[] = {JobKind::kForward,         JobKind::kBackward,
                                          JobKind::kBackwardInput,   JobKind::kBackwardWeight,
                                          JobKind::kForwardBackward, JobKind::kRecompute};

/// The time of one of kStageKinds.
Nanoseconds& timeOf(StageCosts& stage, JobKind kind);

/// Splits a whole backward, of which the input half has that share. `isAsked`: also where halves
/// are known.
void splitBackward(StageCosts& stage, double inputShare, bool isAsked);

/// Gives each stage the mean of all stages for each kind of job that they have.
void balanceStages(Costs& costs);

/// Makes micro-batches that many times as large: jobs and activations scale.
void scaleMicroBatch(StageCosts& stage, double size);

}  // namespace pipetrace
