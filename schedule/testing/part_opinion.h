#pragma once

#include <map>
#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace::test {

/// Whether the parts of a rank's row are right, found in another way than check() does. Each stage
/// has those of one backward or weight half at most, which is its last one. They are all there, in
/// order, and know how many they are.
inline bool partsAreRight(const std::vector<Action>& row) {
  std::map<int, std::vector<Action>> partsOfStage;
  for (const Action& action : row) {
    const bool isBackward =
        action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardWeight;
    if (action.part != Action::kWhole) {
      if (!isBackward) return false;
      partsOfStage[action.stage].push_back(action);
      continue;
    }
    const int stage =
        action.kind == JobKind::kForwardBackward ? action.backwardStage : action.stage;
    const bool hasBackward = isBackward || action.kind == JobKind::kForwardBackward;
    if (hasBackward && partsOfStage.count(stage) > 0) return false;
  }
  for (const auto& [stage, parts] : partsOfStage) {
    if (parts.size() < 2) return false;
    int expected = 0;
    for (const Action& each : parts) {
      const bool isSame = each.kind == parts[0].kind && each.microBatch == parts[0].microBatch;
      const bool knows = each.parts == static_cast<int>(parts.size());
      if (!isSame || !knows || each.part != expected++) return false;
    }
  }
  return true;
}

/// The time of a part, found by asking of each nanosecond of the whole to which block it belongs,
/// and of that to which part. If n things are in k groups, groups 0 to g have those before n (g +
/// 1) / k.
inline Nanoseconds timeOfPartByHand(const StageCosts& stage, Nanoseconds whole,
                                    const Action& action) {
  const auto groupOf = [](std::int64_t thing, std::int64_t things, std::int64_t groups) {
    return ((thing + 1) * groups - 1) / things;
  };
  if (action.part < 0) return whole;
  Nanoseconds time = 0;
  for (Nanoseconds now = 0; now < whole; ++now) {
    const std::int64_t part =
        stage.blocks == 0 ? groupOf(now, whole, action.parts)
                          : groupOf(groupOf(now, whole, stage.blocks), stage.blocks, action.parts);
    time += part == action.part ? 1 : 0;
  }
  return time;
}

}  // namespace pipetrace::test
