#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// What is changed in a framework for a piece of advice: an option and its value, or why it cannot
/// be done there.
struct FrameworkOption {
  std::string framework;  ///< "torch", "torchtitan", "Megatron-LM", "DeepSpeed"
  std::string text;       ///< such as "--num-virtual-stages-per-pipeline-rank 2"
  bool exists = true;     ///< false: the framework cannot; `text` says what is in the way
};

/// These are options of torch.distributed.pipelining 2.15 (Python files of its wheel of
/// 2026-10-27), torchtitan (main of 2026-08-21), Megatron-LM (main of 2026-08-22, 0.20.0 dev) and
/// DeepSpeed 0.19.8 (2026-10-20), as their sources have them.
///
/// `ranks` are pipeline ranks, `microBatches` those of a step of one replica.
std::vector<FrameworkOption> optionsOfSchedule(std::string_view schedule, int chunks, int ranks,
                                               int microBatches);
/// Of a batch that is kept: so many micro-batches in place of `before`, a multiple or a part of it.
std::vector<FrameworkOption> optionsOfMicroBatches(int microBatches, int before);
/// Of stages that are to take equally long.
std::vector<FrameworkOption> optionsOfPartition();
std::vector<FrameworkOption> optionsOfMessageOrder();
/// Of a warm-up with these numbers of forwards, by rank. `isEager`: it is that of Eager1F1B.
std::vector<FrameworkOption> optionsOfWarmUp(bool isEager);
std::vector<FrameworkOption> optionsOfLaunches();
/// Of micro-batches of equal length.
std::vector<FrameworkOption> optionsOfTokens();
/// Of garbage collection at the same step on all ranks.
std::vector<FrameworkOption> optionsOfCollection();

}  // namespace pipetrace
