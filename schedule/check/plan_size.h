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
/// follows from its largest numbers. So one digit too many would make a plan that misses nearly all
/// of its work. The last stages and micro-batches are left out if they have less than half of their
/// work, or none of it, up to half of all. The plan keeps its own size where that leaves nothing.
/// It also does where it has no work of its last stage or micro-batch: then its author has set the
/// size.
StagesAndMicroBatches sizeWithoutStrays(const Plan& plan);

}  // namespace pipetrace
