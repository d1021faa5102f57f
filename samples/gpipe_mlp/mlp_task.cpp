#include "samples/gpipe_mlp/mlp_task.h"

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/optim/sgd.h>

#include "runtime/train/model/linear.h"
#include "samples/sample_task.h"
#include "samples/task_optimizer.h"

namespace pipetrace {

namespace {

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kWidths[] = {10, 20, 30, 20, 5};
constexpr double kLearningRate = 0.01;

Model makeMlp() {
  std::vector<LayerMaker> layers;
  const std::size_t count = std::size(kWidths) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    layers.emplace_back([i] {
      std::vector<torch::nn::AnyModule> modules{
          torch::nn::AnyModule(Linear(kWidths[i], kWidths[i + 1]))};
      if (i + 1 < count) modules.emplace_back(torch::nn::ReLU());
      return modules;
    });
  }
  return chainModel(layers, [](const at::Tensor& output, const at::Tensor& targets) {
    return torch::nn::functional::cross_entropy(output, targets);
  });
}

SampleTask makeTask(const OptimizerOptions& options) {
  SampleTask task;
  task.model = makeMlp();
  const Batch batch{{"inputs", at::randn({kRows, kWidths[0]})},
                    {"targets", at::randint(kWidths[std::size(kWidths) - 1], {kRows}, at::kLong)}};
  task.batch = [batch](int, int) { return batch; };
  task.itemsPerStep = kRows;
  task.itemName = "examples";
  task.optimizer = [rate = options.learningRate,
                    decay = weightDecayOf(options)](const NamedParameters& parameters) {
    const torch::optim::SGDOptions usual(rate);
    return std::make_unique<torch::optim::SGD>(decayGroups(parameters, usual, decay), usual);
  };
  requireNames(task.model, options);
  task.learningRate = learningRateOf(options);
  task.optimizerText = toText(options);
  return task;
}

}  // namespace

OptimizerOptions mlpOptimizer() { return {.learningRate = kLearningRate}; }

SampleTask makeMlpTask() { return makeTask(mlpOptimizer()); }

std::function<SampleTask()> mlpTaskMaker(const OptimizerOptions& optimizer) {
  return [optimizer] { return makeTask(optimizer); };
}

}  // namespace pipetrace
