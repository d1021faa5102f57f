#pragma once

#include "schedule/plan.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// The `Profiler Meta:` of `rank` when it runs `plan`: rank, world size, stages, chunks,
/// micro-batches, where stages are on several ranks, the schedule's name, data-parallel index,
/// device "cpu".
RankInfo rankInfoOf(const Plan& plan, int rank);

}  // namespace pipetrace
