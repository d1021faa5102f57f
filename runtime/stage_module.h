#pragma once

#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>

#include <vector>

namespace pipetrace {

/// Blocks that run one after the other and must not be split (a Linear and its ReLU). Each takes
/// one tensor and returns one.
using Layer = std::vector<torch::nn::AnyModule>;

/// Cuts a model, given as its layers in order, into stages of consecutive layers. The stages have
/// as equal a number of layers as possible, the longer ones first. They share the layers'
/// parameters. Throws Error if there are fewer layers than stages.
std::vector<torch::nn::Sequential> cutIntoStages(const std::vector<Layer>& layers, int numStages);

}  // namespace pipetrace
