#include "analysis/what_if/cut_stages.h"

#include <algorithm>
#include <cstdint>

namespace pipetrace {

std::vector<StageCosts> cutStages(const std::vector<StageCosts>& stages, int count) {
  const auto before = static_cast<int>(stages.size());
  if (count == before || before == 0) return stages;
  const bool haveFused = std::all_of(stages.begin(), stages.end(),
                                     [](const auto& each) { return each.forwardBackward >= 0; });
  std::vector<StageCosts> cut;
  for (int s = 0; s < count; ++s) {
    StageCosts& to = cut.emplace_back();
    to.activation = 0;
    if (haveFused) to.forwardBackward = 0;
    // In units of which a stage has `count` before, and `before` after.
    for (int old = s * before / count; old * count < (s + 1) * before; ++old) {
      const std::int64_t first = std::max(s * before, old * count) - old * count;
      const std::int64_t end = std::min((s + 1) * before, (old + 1) * count) - old * count;
      const StageCosts& from = stages[static_cast<std::size_t>(old)];
      const auto add = [&](std::int64_t value, std::int64_t& sum) {
        sum += value * end / count - value * first / count;
      };
      add(from.forward, to.forward);
      add(from.backward, to.backward);
      add(from.backwardInput, to.backwardInput);
      add(from.backwardWeight, to.backwardWeight);
      add(from.recompute, to.recompute);
      add(from.activation, to.activation);
      if (haveFused) add(from.forwardBackward, to.forwardBackward);
      to.message = from.message;
    }
  }
  return cut;
}

}  // namespace pipetrace
