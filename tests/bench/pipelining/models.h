#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include "runtime/train/data/data_loader.h"
#include "runtime/train/model/model.h"
#include "runtime/train/optimize/optimizer_maker.h"

namespace pipetrace::bench {

/// A model of equal layers, whose input and output have the same shape.
struct ModelSize {
  bool isTransformer = false;  ///< encoder layers; else Linear and ReLU
  int layers = 8;
  std::int64_t width = 1024;
  std::int64_t heads = 4;   ///< of a transformer
  std::int64_t rows = 32;   ///< of a micro-batch
  std::int64_t tokens = 0;  ///< of a transformer's row
};

/// The sizes of the comparison: `mlp` or `xfmr`. Throws Error for another name.
ModelSize modelSize(const std::string& name);

/// The layers with the weights that Python draws after torch.manual_seed(0). The loss is the mean
/// of the squares of all differences.
Model makeModel(const ModelSize& size);

/// The one batch of all steps: inputs, then targets, drawn by a generator seeded with 1.
Batch makeBatch(const ModelSize& size, int microBatches);

/// SGD with learning rate 0.01.
std::unique_ptr<torch::optim::Optimizer> makeSgd(const NamedParameters& parameters);

}  // namespace pipetrace::bench
