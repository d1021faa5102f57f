#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/transport/transport.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace::testing {

/// A small training run: an MLP of numStages layers on random data, cross-entropy, Adam.
struct TrainingCase {
  int numStages = 4;
  int microBatches = 8;
  int rows = 32;
  int steps = 3;
};

/// The results of a rank. For each step: the loss, if it has the last stage, and the gradient of
/// every parameter of its stages. Then the parameters at the end.
using RankResult = std::vector<at::Tensor>;

/// Called before each backward of a rank.
using BeforeBackward = std::function<void(int step, int microBatch)>;

/// Runs one rank with the executor and TorchWork, finish() included. One thread each, any threads.
RankResult trainRank(const TrainingCase& training, const CheckedPlan& plan, Transport& transport,
                     const BeforeBackward& beforeBackward = {});

/// Trains the same model in one thread without pipeline, executor or TorchWork. The whole model
/// runs forward and backward for one micro-batch at a time. Then each parameter's gradients are
/// added in the order in which `plan` runs the backwards of its stage. Where a stage stands on two
/// ranks, each copy's are added first, then the two sums. Returns by rank the result of
/// trainRank().
std::vector<RankResult> trainAlone(const TrainingCase& training, const Plan& plan);

/// "" if every tensor of `a` has the type, the shape and the bits of its counterpart in `b`; else
/// names the first that differs.
std::string firstDifference(const RankResult& a, const RankResult& b);

}  // namespace pipetrace::testing
