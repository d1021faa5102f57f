#include "tests/bench/pipelining/models.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include "tests/bench/pipelining/encoder_layer.h"
#include "trace/error.h"

namespace pipetrace::bench {

namespace {

constexpr std::uint64_t kModelSeed = 0;
constexpr std::uint64_t kDataSeed = 1;
constexpr double kLearningRate = 0.01;

Layer makeLayer(const ModelSize& size) {
  if (size.isTransformer) {
    return {torch::nn::AnyModule(EncoderLayer(size.width, size.heads))};
  }
  return {torch::nn::AnyModule(torch::nn::Linear(size.width, size.width)),
          torch::nn::AnyModule(torch::nn::ReLU())};
}

}  // namespace

ModelSize modelSize(const std::string& name) {
  if (name == "mlp") return {};
  if (name == "xfmr") return {.isTransformer = true, .width = 256, .rows = 4, .tokens = 64};
  throw Error("there is no model " + name + "; the models are mlp and xfmr");
}

std::vector<Layer> makeModel(const ModelSize& size) {
  torch::manual_seed(kModelSeed);
  std::vector<Layer> layers;
  for (int i = 0; i < size.layers; ++i) layers.push_back(makeLayer(size));
  return layers;
}

Batch makeBatch(const ModelSize& size, int microBatches) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(kDataSeed);
  std::vector<std::int64_t> shape = {size.rows * microBatches};
  if (size.isTransformer) shape.push_back(size.tokens);
  shape.push_back(size.width);
  Batch batch;
  batch.inputs = at::randn(shape, generator);
  batch.targets = at::randn(shape, generator);
  return batch;
}

at::Tensor meanSquareLoss(const at::Tensor& output, const at::Tensor& targets) {
  return at::mse_loss(output, targets);
}

std::unique_ptr<torch::optim::Optimizer> makeSgd(std::vector<at::Tensor> parameters) {
  return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                             torch::optim::SGDOptions(kLearningRate));
}

}  // namespace pipetrace::bench
