#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

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

}  // namespace pipetrace::testing
