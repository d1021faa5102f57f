#pragma once

#include <cstdint>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// The repeated part of a schedule in "Pipeline Parallelism with Controllable Memory": the forwards
/// and input halves of one micro-batch. The next micro-batch repeats them `interval` later. Times
/// are in units of one job.
struct BuildingBlock {
  std::vector<std::int64_t> forward;        ///< by virtual stage, when its forward begins
  std::vector<std::int64_t> backwardInput;  ///< by virtual stage, when its input half begins
  std::int64_t interval = 0;
};

/// The order in which each rank does its jobs of the blocks of all micro-batches. `plan` gives the
/// sizes and the placement of the stages.
Plan repeat(Plan plan, const BuildingBlock& block);

}  // namespace pipetrace
