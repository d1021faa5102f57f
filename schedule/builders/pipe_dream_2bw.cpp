#include <algorithm>

#include "schedule/builders/builders.h"

namespace pipetrace {

Schedule pipeDream2bw(int ranks, int microBatches) {
  Schedule schedule = oneFOneB(ranks, microBatches);
  schedule.name = "PipeDream-2BW";
  // At least as many as there are stages, or a third version would be in use.
  schedule.updates = {.every = std::min(ranks, microBatches), .doubleBuffered = true};
  return schedule;
}

}  // namespace pipetrace
