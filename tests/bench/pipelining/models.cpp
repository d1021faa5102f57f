#include "tests/bench/pipelining/models.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <torch/nn/modules/activation.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include "runtime/train/model/linear.h"
#include "tests/bench/pipelining/encoder_layer.h"
#include "trace/error.h"

namespace pipetrace::bench {

namespace {

constexpr std::uint64_t kModelSeed = 0;
constexpr std::uint64_t kDataSeed = 1;
constexpr double kLearningRate = 0.01;

std::vector<torch::nn::AnyModule> makeLayer(const ModelSize& size) {
  if (size.isTransformer) {
    return {torch::nn::AnyModule(EncoderLayer(size.width, size.heads))};
  }
  return {torch::nn::AnyModule(Linear(size.width, size.width)),
          torch::nn::AnyModule(torch::nn::ReLU())};
}

}  // namespace

ModelSize modelSize(const std::string& name) {
  if (name == "mlp") return {};
  if (name == "xfmr") return {.isTransformer = true, .width = 256, .rows = 4, .tokens = 64};
  throw Error("there is no model " + name + "; the models are mlp and xfmr");
}

Model makeModel(const ModelSize& size) {
  std::vector<LayerMaker> layers;
  for (int i = 0; i < size.layers; ++i) {
    layers.emplace_back([size, i] {
      // Python draws one layer's weights after the other's, so those before are drawn, too.
      torch::manual_seed(kModelSeed);
      for (int before = 0; before < i; ++before) makeLayer(size);
      return makeLayer(size);
    });
  }
  return chainModel(layers, [](const at::Tensor& output, const at::Tensor& targets) {
    return at::mse_loss(output, targets);
  });
}

Batch makeBatch(const ModelSize& size, int microBatches) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(kDataSeed);
  std::vector<std::int64_t> shape = {size.rows * microBatches};
  if (size.isTransformer) shape.push_back(size.tokens);
  shape.push_back(size.width);
  Batch batch;
  batch["inputs"] = at::randn(shape, generator);
  batch["targets"] = at::randn(shape, generator);
  return batch;
}

std::unique_ptr<torch::optim::Optimizer> makeSgd(const NamedParameters& parameters) {
  return std::make_unique<torch::optim::SGD>(tensorsOf(parameters),
                                             torch::optim::SGDOptions(kLearningRate));
}

}  // namespace pipetrace::bench
