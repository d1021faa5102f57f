#pragma once

#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// Stages whose memory is on the same ranks, so that they share a limit. A stage with a rank of its
/// own is a group of one; the stages of a rank are one, and so are those of ranks that share any.
struct StageGroup {
  std::vector<int> stages;  ///< ascending
  std::vector<int> ranks;
};

/// All of a plan, by their first stages.
std::vector<StageGroup> stageGroups(const Plan& plan);

}  // namespace pipetrace
