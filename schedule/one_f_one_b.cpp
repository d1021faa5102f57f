#include <algorithm>

#include "schedule/builders.h"

namespace pipetrace {

Schedule oneFOneB(int ranks, int microBatches) {
  Schedule schedule = oneStagePerRank("1F1B", ranks, microBatches);
  for (int stage = 0; stage < ranks; ++stage) {
    auto& actions = schedule.ranks[static_cast<std::size_t>(stage)];
    int forwards = 0;
    int backwards = 0;
    const auto forward = [&] { actions.push_back({JobKind::kForward, stage, forwards++}); };
    const auto backward = [&] { actions.push_back({JobKind::kBackward, stage, backwards++}); };

    const int warmUp = std::min(microBatches, ranks - 1 - stage);
    const int steady = microBatches - warmUp;
    for (int i = 0; i < warmUp; ++i) forward();
    for (int i = 0; i < steady; ++i) {
      forward();
      backward();
    }
    const int coolDown = warmUp;
    for (int i = 0; i < coolDown; ++i) backward();
  }
  return schedule;
}

}  // namespace pipetrace
