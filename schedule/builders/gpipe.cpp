#include "schedule/builders/builders.h"

namespace pipetrace {

Schedule gPipe(int ranks, int microBatches) {
  Schedule schedule = oneStagePerRank("GPipe", ranks, microBatches);
  for (int stage = 0; stage < ranks; ++stage) {
    auto& actions = schedule.ranks[static_cast<std::size_t>(stage)];
    for (int m = 0; m < microBatches; ++m) actions.push_back({JobKind::kForward, stage, m});
    for (int m = microBatches - 1; m >= 0; --m) actions.push_back({JobKind::kBackward, stage, m});
  }
  return schedule;
}

}  // namespace pipetrace
