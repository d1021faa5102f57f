#include "schedule/builders/builders.h"

namespace pipetrace {

Schedule pipeDream(int ranks, int microBatches) {
  // The start-up phase admits as many micro-batches as there are stages to come, then backward and
  // forward passes alternate: 1F1B, whose flush is all that is missing.
  Schedule schedule = oneFOneB(ranks, microBatches);
  schedule.name = "PipeDream";
  schedule.updates = {.every = 1};
  return schedule;
}

}  // namespace pipetrace
