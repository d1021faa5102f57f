#pragma once

#include "schedule/schedule.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// What `Profiler Meta:` says of `rank` when it runs `schedule`: rank, world size, stages, chunks,
/// micro-batches, the schedule's name, data-parallel index 0, device "cpu".
RankInfo rankInfoOf(const Schedule& schedule, int rank);

}  // namespace pipetrace
