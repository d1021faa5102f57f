#pragma once

#include <functional>

#include "samples/sample_options.h"

namespace pipetrace {

struct SampleTask;

/// The usual exercise for learning GPipe: an MLP 10-20-30-20-5 in four layers (Linear and ReLU, the
/// last without). It trains on one batch of 16 examples with random inputs and labels,
/// cross-entropy, SGD with learning rate 0.01. Draws from torch's random generator.
SampleTask makeMlpTask();

/// The optimizer of the exercise.
OptimizerOptions mlpOptimizer();

/// The exercise for runSample(), with an optimizer of these options, in a file that does not
/// include LibTorch. Making it throws Error for options that do not fit.
std::function<SampleTask()> mlpTaskMaker(const OptimizerOptions& optimizer);

}  // namespace pipetrace
