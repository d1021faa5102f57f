#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/testing/training_case.h"

namespace pipetrace::testing {

// Both ways to train a case share this.

constexpr std::uint64_t kSeed = 1234;
constexpr double kRate = 0.01;
constexpr double kDecay = 0.5;

Batch batchOf(const TrainingCase& training, int step, int replica);
void appendGradients(RankResult& result, const Tensors& parameters);
void appendParameters(RankResult& result, const Tensors& parameters);
at::Tensor lossTensor(double loss);

/// The loss of a micro-batch in torch, from its part of the batch, without its share. Leaves all
/// tensors of the model in `tensors`.
at::Tensor lossAlone(const Model& model, const std::vector<std::shared_ptr<BlockModule>>& blocks,
                     std::map<std::string, at::Tensor>& tensors, int step, int microBatch);

}  // namespace pipetrace::testing
