#include "samples/testing/layers_task.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/optim/sgd.h>

#include "runtime/train/model/linear.h"

namespace pipetrace {
namespace {

constexpr double kLearningRate = 0.01;
constexpr std::uint64_t kSeedStride = 1'000'003;

}  // namespace

SampleTask makeLayersTask(const LayersOptions& options) {
  std::vector<LayerMaker> layers;
  for (int i = 0; i < options.layers; ++i) {
    layers.emplace_back([options, i] {
      std::vector<torch::nn::AnyModule> modules{
          torch::nn::AnyModule(Linear(options.width, options.width))};
      if (i + 1 < options.layers) modules.emplace_back(torch::nn::ReLU());
      return modules;
    });
  }
  SampleTask task;
  task.model = chainModel(layers, [](const at::Tensor& output, const at::Tensor& targets) {
    return torch::nn::functional::cross_entropy(output, targets);
  });
  task.sizes = fmt::format("{} layers, width {}", options.layers, options.width);
  task.batch = [options](int step, int /*replica*/) -> Batch {
    const std::uint64_t seed = options.seed * kSeedStride + static_cast<std::uint64_t>(step);
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    return {{"inputs", at::randn({options.rows, options.width}, generator)},
            {"targets", at::randint(0, options.width, {options.rows}, generator, at::kLong)}};
  };
  task.rows = options.rows;
  task.optimizer = [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::SGD>(tensorsOf(parameters),
                                               torch::optim::SGDOptions(kLearningRate));
  };
  task.learningRate = [](int) { return kLearningRate; };
  return task;
}

}  // namespace pipetrace
