#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/train/torch_work.h"

namespace pipetrace {

/// The model and the data that a sample trains with.
struct SampleTask {
  Model model;        ///< its ties are left out in plans without a flush
  std::string sizes;  ///< of the model, compared between ranks: "width 128, …"
  /// The examples of a replica's step: the same on each of its ranks. Called ahead of the step, on
  /// a thread of each rank that needs them, so from several threads at a time.
  std::function<Batch(int step, int replica)> batch;
  std::int64_t rows = 0;      ///< of them
  std::string itemName = {};  ///< what lines count beside rows: "tokens"
  double itemsPerRow = 0;
  double flopsPerRow = 0;  ///< FitOptions::flopsPerSample; 0: not known
  /// As in TorchWorkOptions.
  decltype(TorchWorkOptions::optimizer) optimizer;
  decltype(TorchWorkOptions::learningRate) learningRate;
  std::string optimizerText = {};  ///< its options, compared between ranks
};

}  // namespace pipetrace
