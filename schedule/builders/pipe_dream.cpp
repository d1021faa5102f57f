#include <algorithm>

#include "schedule/builders/builders.h"

namespace pipetrace {

Plan pipeDream(int ranks, int microBatches) {
  // The start-up phase admits as many micro-batches as there are stages to come. Then backward and
  // forward passes alternate: 1F1B without its flush.
  Plan plan = oneFOneB(ranks, microBatches);
  plan.name = "PipeDream";
  plan.updates = WeightUpdates::alike(ranks, 1);
  return plan;
}

Plan pipeDream2bw(int ranks, int microBatches) {
  Plan plan = oneFOneB(ranks, microBatches);
  plan.name = "PipeDream-2BW";
  // At least as many as there are stages, or a third version would be in use.
  plan.updates = WeightUpdates::alike(ranks, std::min(ranks, microBatches), true);
  return plan;
}

}  // namespace pipetrace
