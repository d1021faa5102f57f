#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/batch.h"
#include "runtime/stage_module.h"
#include "runtime/torch_work.h"

namespace pipetrace {

/// The model, the data and the loss that a sample trains with.
struct SampleTask {
  std::vector<Layer> layers;  ///< the whole model; each rank keeps the stages it runs
  /// The examples of a step: the same on every rank. Called from several threads at a time.
  std::function<Batch(int step)> batch;
  /// As in TorchWorkOptions.
  decltype(TorchWorkOptions::loss) loss;
  decltype(TorchWorkOptions::optimizer) optimizer;
  decltype(TorchWorkOptions::learningRate) learningRate;
};

}  // namespace pipetrace
