#pragma once

#include "schedule/partition/block_table.h"
#include "schedule/plan.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// The `Profiler Meta:` of `rank` when it runs `plan`: rank, world size, stages, chunks,
/// micro-batches, where stages are on several ranks, the schedule's name, data-parallel index,
/// device "cpu". `partition`: the blocks of the stages; empty: there are none.
RankInfo rankInfoOf(const Plan& plan, int rank, const BlockPartition& partition = {});

}  // namespace pipetrace
