#pragma once

#include <string>
#include <vector>

#include "schedule/plan.h"

/// One pure function per schedule, in a file of this folder that has its name in snake_case; close
/// relatives share a file. All take the number of pipeline ranks and of micro-batches, both at
/// least 1 and in any relation to each other, and throw Error for anything less. `chunks` is the
/// number of virtual stages per rank, at least 1. Builders without that parameter have one stage
/// per rank. The V-shaped ones have two: stage s and stage 2 * ranks - 1 - s are on rank s.
///
/// A paper may define its schedule for some sizes only: micro-batches a multiple of the ranks, at
/// least twice as many, an even number of ranks …. Other sizes are planned as the next larger size
/// that the paper covers. Then the work of micro-batches (as a rule the first) and ranks that do
/// not exist is left out. A plan that can run still can after that.
namespace pipetrace {

/// All forwards, then all backwards, oldest first: PaddlePaddle's F-then-B, torch's ScheduleGPipe.
Plan fThenB(int ranks, int microBatches);

/// All forwards, then all backwards, newest first. Source: GPipe, Huang et al. 2019, figure 2c.
Plan gPipe(int ranks, int microBatches);

/// One forward, one backward. Source: PipeDream-Flush, Narayanan et al. 2021, "Memory-Efficient
/// Pipeline-Parallel DNN Training"; Megatron-LM's non-interleaved schedule.
Plan oneFOneB(int ranks, int microBatches);

/// 1F1B with a warm-up of 2 (ranks - 1 - stage) + 1 forwards, so that transfers hide. Source:
/// Zhuang et al. 2023, "On Optimizing the Communication of Model Parallelism"; PaddlePaddle.
Plan eagerOneFOneB(int ranks, int microBatches);

/// Source: Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters
/// Using Megatron-LM", figure 4; torch's ScheduleInterleaved1F1B, PaddlePaddle's VPP. Any number of
/// micro-batches, without a longer bubble: see interleavedOrder().
Plan interleavedOneFOneB(int ranks, int microBatches, int chunks);

/// Source: Lamy-Poirier 2022, "Breadth-First Pipeline Parallelism"; torch's ScheduleLoopedBFS.
Plan loopedBfs(int ranks, int microBatches, int chunks);

/// Source: Qi et al. 2023, "Zero Bubble Pipeline Parallelism", section 2: H1 and H2.
Plan zbH1(int ranks, int microBatches);
Plan zbH2(int ranks, int microBatches);

/// Interleaved 1F1B with split backward passes; torch's ScheduleInterleavedZeroBubble.
Plan interleavedZeroBubble(int ranks, int microBatches, int chunks);

/// Source: Qi et al. 2024, "Pipeline Parallelism with Controllable Memory": V-ZB, V-Half, V-Min.
Plan zbV(int ranks, int microBatches);
Plan vHalf(int ranks, int microBatches);
Plan vMin(int ranks, int microBatches);

/// Both directions at once, each stage on two ranks. The first half of the micro-batches (rounded
/// up) runs from rank 0 on, the others from the last rank on. An odd number of ranks is planned as
/// one more, without one of the middle two. Source: DeepSeek-V3 Technical Report, 2024, figure 5.
Plan dualPipe(int ranks, int microBatches);

/// DualPipe cut in half: one copy of the weights, V-shaped. Source: DeepSeek's DualPipe README;
/// torch's ScheduleDualPipeV.
Plan dualPipeV(int ranks, int microBatches);

/// Asynchronous: weights change after every backward pass. Stage s keeps n = ranks - s versions of
/// them once the pipeline has been full for long enough, which takes m = 2 n - 2 micro-batches.
/// With fewer micro-batches (m > 1) it keeps max(m - n, 0) + 2 versions. Source: Narayanan et al.
/// 2019, "PipeDream: Generalized Pipeline Parallelism".
Plan pipeDream(int ranks, int microBatches);

/// Asynchronous: two versions of the weights, which change every `ranks` micro-batches, and after
/// the last one where that leaves a rest. With fewer micro-batches than ranks they change after all
/// of them. Source: Narayanan et al. 2021, PipeDream-2BW.
Plan pipeDream2bw(int ranks, int microBatches);

/// Evaluation and inference: forwards alone, over several chunks in the order of Interleaved1F1B.
/// It has 2 credits; with several chunks as many more as hold back nothing where all stages take as
/// long. Sources: DeepSpeed's InferenceSchedule, which has two buffers; torch's
/// _ScheduleForwardOnly; Megatron-LM's forward_only.
Plan forwardOnly(int ranks, int microBatches, int chunks);

/// The rows of onStageRanks().
enum class OrderOfRow { kOldestFirst, kNewestFirst, kOneFOneB };
/// FThenB, GPipe or 1F1B with stages on several ranks, which take turns at the micro-batches. A
/// rank has one stage. In 1F1B it warms up with as many forwards as there are ranks in the stages
/// after its own, divided by those of its own and rounded up. `depths`, if given, have another
/// number for each stage. Throws Error for a rank that is left out or has two stages, and for more
/// ranks of a stage than micro-batches. It also does for depths of other stages, or of a plan that
/// runs all forwards first.
/// Source: PipeDream's stage_to_rank_map and stage_to_depth_map, and num_warmup_minibatches in its
/// runtime (Narayanan et al. 2019).
Plan onStageRanks(OrderOfRow order, const std::string& name,
                  const std::vector<std::vector<int>>& ranksOfStage, int microBatches,
                  const std::vector<int>& depths = {});
/// PipeDream on such ranks: an update of a stage takes a micro-batch of each of its ranks, as in
/// PipeDream's runtime, where LibTorch's DistributedDataParallel takes the mean over them.
Plan pipeDreamOnStageRanks(const std::vector<std::vector<int>>& ranksOfStage, int microBatches,
                           const std::vector<int>& depths = {});
/// PipeDream-2BW on such ranks. All stages have the same groups: at least as many micro-batches as
/// there are ranks, and as many for each rank of a stage.
Plan pipeDream2bwOnStageRanks(const std::vector<std::vector<int>>& ranksOfStage, int microBatches,
                              const std::vector<int>& depths = {});

}  // namespace pipetrace
