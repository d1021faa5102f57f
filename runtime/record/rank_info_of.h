#pragma once

#include "schedule/plan.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// The `Profiler Meta:` of `rank` when it runs `plan`: rank, world size, stages, chunks,
/// micro-batches, the schedule's name, data-parallel index 0, device "cpu".
RankInfo rankInfoOf(const Plan& plan, int rank);

}  // namespace pipetrace
