#include "samples/gpipe_mlp/mlp_task.h"

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

namespace pipetrace {

namespace {

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kWidths[] = {10, 20, 30, 20, 5};
constexpr double kLearningRate = 0.01;

std::vector<Layer> makeLayers() {
  std::vector<Layer> layers;
  const std::size_t count = std::size(kWidths) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    Layer layer{torch::nn::AnyModule(torch::nn::Linear(kWidths[i], kWidths[i + 1]))};
    if (i + 1 < count) layer.emplace_back(torch::nn::ReLU());
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

SampleTask makeMlpTask() {
  SampleTask task;
  task.layers = makeLayers();
  const Batch batch{.inputs = at::randn({kRows, kWidths[0]}),
                    .targets = at::randint(kWidths[std::size(kWidths) - 1], {kRows}, at::kLong)};
  task.batch = [batch](int) { return batch; };
  task.loss = [](const at::Tensor& output, const at::Tensor& targets) {
    return torch::nn::functional::cross_entropy(output, targets);
  };
  task.optimizer = [](std::vector<at::Tensor> parameters) {
    return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                               torch::optim::SGDOptions(kLearningRate));
  };
  return task;
}

}  // namespace pipetrace
