#pragma once

#include "schedule/schedule.h"

/// One pure function per schedule, each in a file of its own. All take the number of pipeline ranks
/// and of micro-batches, both at least 1 and in any relation to each other, and throw Error for
/// anything less.
namespace pipetrace {

/// All forwards, then all backwards, oldest first: PaddlePaddle's F-then-B, torch's ScheduleGPipe.
Schedule fThenB(int ranks, int microBatches);

/// All forwards, then all backwards, newest first. Source: GPipe, Huang et al. 2019, figure 2c.
Schedule gPipe(int ranks, int microBatches);

/// One forward, one backward. Source: PipeDream-Flush, Narayanan et al. 2021, "Memory-Efficient
/// Pipeline-Parallel DNN Training"; Megatron-LM's non-interleaved schedule.
Schedule oneFOneB(int ranks, int microBatches);

/// What those three start from: stage s on rank s, no actions yet.
Schedule oneStagePerRank(const char* name, int ranks, int microBatches);

}  // namespace pipetrace
