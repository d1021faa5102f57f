#pragma once

#include <string_view>

#include "schedule/plan.h"

namespace pipetrace {

/// Throws Error for a plan of less than one rank, micro-batch or chunk, and for one of more actions
/// than any real plan has.
void requirePlanSize(std::string_view name, int ranks, int microBatches, int chunks);

/// Builders start from this: stage s on rank s, no actions yet. It throws for a bad size as
/// requirePlanSize() does; so do the next two.
Plan oneStagePerRank(const char* name, int ranks, int microBatches);
/// Stage s on rank s % ranks.
Plan loopedStages(const char* name, int ranks, int microBatches, int chunks);
/// Stages s and 2 * ranks - 1 - s on rank s.
Plan vShapedStages(const char* name, int ranks, int microBatches);

}  // namespace pipetrace
