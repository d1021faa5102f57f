#pragma once

#include <cstdint>

#include "samples/sample_task.h"

namespace pipetrace {

struct LayersOptions {
  int layers = 4;
  std::int64_t width = 32;
  std::int64_t rows = 16;  ///< of a batch
  std::uint64_t seed = 1;
};

/// Layers of Linear and ReLU, the last without, that learn to tell random examples apart. Each step
/// has examples of its own; cross-entropy, SGD.
SampleTask makeLayersTask(const LayersOptions& options);

}  // namespace pipetrace
