#pragma once

#include "schedule/plan.h"

namespace pipetrace {

/// How many stages and micro-batches a plan has.
struct StagesAndMicroBatches {
  int stages = 0;
  int microBatches = 0;
  bool operator==(const StagesAndMicroBatches&) const = default;
};

/// The size of a plan without numbers that are there by mistake. The size of a plan that was read
/// follows from its largest numbers, so that one digit too many makes a plan of which nearly all is
/// missing. Left out: the last stages and micro-batches of which less than half is there, or, after
/// others of which nothing is there, up to half. The plan's own size where that leaves nothing, or
/// where it has nothing of its last stage or micro-batch: somebody else has set it.
StagesAndMicroBatches sizeWithoutStrays(const Plan& plan);

}  // namespace pipetrace
