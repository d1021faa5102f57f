#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// A partition as Megatron-LM takes it.
struct MegatronLayout {
  std::string text;     ///< the option and its value, and what the value takes for granted
  std::string problem;  ///< why there is none; empty: there is one
};

/// The layout of stages with that many blocks each, in the order of the model. In a layout E is the
/// embedding, t a layer, m a layer that predicts several tokens ahead, and L the loss with the
/// head. E stands first and L last, once each.
///
/// `names` of the blocks say what they are. The first ones with "embed" in it are E. The last ones
/// with "head", "loss", "logits", "output" or "norm" are L, and those with "mtp" are m. All others
/// are layers. Where the first or the last block has no name, nothing says if it is a layer, so the
/// text has both layouts.
///
/// Source: PipelineParallelLayerLayout in megatron/core/transformer of Megatron-LM (main of
/// 2026-08-22).
MegatronLayout megatronLayout(const std::vector<int>& blocks,
                              const std::vector<std::string>& names);

struct ScheduleInfo;

/// An option of a framework and its value, for a piece of advice, or why it cannot be done there.
struct FrameworkOption {
  std::string framework;       ///< "torch", "torchtitan", "Megatron-LM", "DeepSpeed"
  std::string text;            ///< such as "--num-virtual-stages-per-pipeline-rank 2"
  bool exists = true;          ///< false: the framework cannot; `text` says what is in the way
  bool takesPlanFile = false;  ///< `text` is about plan.csv, which `what-if --csv plan.csv` writes
};

/// Options are those of the sources of torch.distributed.pipelining 2.15 (wheel of 2026-10-27) and
/// torchtitan (main of 2026-08-21). Others are of Megatron-LM (main of 2026-08-22, 0.20.0 dev) and
/// DeepSpeed 0.19.8 (2026-10-20).
///
/// These are for another schedule, of its row; throws Error for one that is not known. `ranks` are
/// pipeline ranks, `microBatches` those of a step of one replica.
std::vector<FrameworkOption> optionsOfSchedule(std::string_view schedule, int chunks, int ranks,
                                               int microBatches);
/// Those that cut a batch into `microBatches` in place of `before`, a multiple or a part of it.
std::vector<FrameworkOption> optionsOfMicroBatches(int microBatches, int before);
/// Those that move layers between stages. `blocks`: how many each stage gets; empty: not known.
/// `names`: of all blocks in their order (BlockCosts::name), or none.
std::vector<FrameworkOption> optionsOfPartition(const std::vector<int>& blocks = {},
                                                const std::vector<std::string>& names = {});
/// Those that change when messages move.
std::vector<FrameworkOption> optionsOfMessageOrder();
/// Those that give messages from each rank to each other a communicator of their own.
std::vector<FrameworkOption> optionsOfMessageLines();
/// Those that make warm-ups deeper. `like`: a schedule that has them so deep; null: none has.
std::vector<FrameworkOption> optionsOfWarmUp(const ScheduleInfo* like);
/// Those that make launches shorter.
std::vector<FrameworkOption> optionsOfLaunches();
/// Those that give all micro-batches as many tokens.
std::vector<FrameworkOption> optionsOfTokens();
/// Those that spread work evenly over ranks that share it.
std::vector<FrameworkOption> optionsOfLoad();
/// Those that hide gathers and scatters of weights.
std::vector<FrameworkOption> optionsOfWeights();
/// Those that load batches ahead of the steps that need them.
std::vector<FrameworkOption> optionsOfLoading();
/// Those that collect garbage at the same step on all ranks.
std::vector<FrameworkOption> optionsOfCollection();

}  // namespace pipetrace
