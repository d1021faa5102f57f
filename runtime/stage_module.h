#pragma once

#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>

#include <vector>

namespace pipetrace {

/// A model as the list of blocks that its input runs through one after the other. Each takes one
/// tensor and returns one.
using ModelBlocks = std::vector<torch::nn::AnyModule>;

/// Cuts the blocks into `numStages` stages of consecutive blocks, as even in number as can be, the
/// longer ones first. Throws Error if there are fewer blocks than stages.
std::vector<torch::nn::Sequential> cutIntoStages(const ModelBlocks& blocks, int numStages);

/// Cuts them as told: stage s gets blocksOfStage[s] blocks. Throws Error unless all are at least 1
/// and they add up to the number of blocks.
std::vector<torch::nn::Sequential> cutIntoStages(const ModelBlocks& blocks,
                                                 const std::vector<int>& blocksOfStage);

}  // namespace pipetrace
