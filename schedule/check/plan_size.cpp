#include "schedule/check/plan_size.h"

#include <cstdint>
#include <iterator>
#include <map>

namespace pipetrace {
namespace {

/// The work that there is of each stage, or of each micro-batch; numbers without any are left out.
struct Counts {
  int size = 0;
  std::map<int, std::int64_t> passes = {};  // forward and backward ones

  void add(int number, bool isPass) {
    if (number >= 0 && number < size) passes[number] += isPass;
  }

  /// The size without the last numbers that are there by mistake, where each should have `whole`
  /// passes.
  int withoutStrays(std::int64_t whole) const {
    if (!passes.contains(size - 1)) return size;
    for (auto last = passes.rbegin(); last != passes.rend(); ++last) {
      const auto& [number, found] = *last;
      const auto before = std::next(last);
      const bool followsNothing =
          number > 0 && (before == passes.rend() || before->first < number - 1);
      if (2 * found > whole || (2 * found == whole && !followsNothing)) return number + 1;
    }
    return size;
  }
};

}  // namespace

StagesAndMicroBatches sizeWithoutStrays(const Plan& plan) {
  Counts stages{.size = plan.numStages};
  Counts microBatches{.size = plan.numMicroBatches};
  const auto add = [&](int stage, int microBatch, bool isPass) {
    stages.add(stage, isPass);
    microBatches.add(microBatch, isPass);
  };
  for (const auto& actions : plan.ranks) {
    for (const Action& action : actions) {
      if (isDataParallel(action.kind)) continue;
      add(action.stage, action.microBatch,
          !isTransfer(action.kind) && action.kind != JobKind::kBackwardWeight &&
              action.kind != JobKind::kRecompute);
      if (action.kind == JobKind::kForwardBackward) {
        add(action.backwardStage, action.backwardMicroBatch, true);
      }
    }
  }
  const int passesOfEach = plan.isForwardOnly() ? 1 : 2;
  const auto all = [&](const Counts& others) {
    return passesOfEach * static_cast<std::int64_t>(others.passes.size());
  };
  StagesAndMicroBatches size;
  size.stages = stages.withoutStrays(all(microBatches));
  stages.passes.erase(stages.passes.lower_bound(size.stages), stages.passes.end());
  size.microBatches = microBatches.withoutStrays(all(stages));
  return size;
}

}  // namespace pipetrace
