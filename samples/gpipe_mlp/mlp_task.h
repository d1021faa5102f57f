#pragma once

#include <functional>

namespace pipetrace {

struct SampleTask;

/// The usual exercise for learning GPipe: an MLP 10-20-30-20-5 in four layers (Linear and ReLU, the
/// last without). It trains on one batch of 16 examples with random inputs and labels,
/// cross-entropy, SGD with learning rate 0.01. Draws from torch's random generator.
SampleTask makeMlpTask();

/// makeMlpTask for runSample(), in a file that does not include LibTorch.
std::function<SampleTask()> mlpTaskMaker();

}  // namespace pipetrace
