#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/dual_pipe_steps.h"

namespace pipetrace {

Schedule dualPipeV(int ranks, int microBatches) {
  Schedule schedule = vShapedStages("DualPipeV", ranks, microBatches);
  const int planned = std::max(microBatches, 2 * ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan plan(schedule, rank, planned);
    const DualPipeSize size{.depth = ranks, .position = rank, .microBatches = planned};
    addDualPipeSteps(plan, size, 0, 1);
  }
  return schedule;
}

}  // namespace pipetrace
