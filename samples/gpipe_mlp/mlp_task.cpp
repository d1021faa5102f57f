#include "samples/gpipe_mlp/mlp_task.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>

#include "runtime/train/model/linear.h"
#include "samples/optimizer/task_optimizer.h"
#include "samples/sample_task.h"

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

/// The same in every step. Those of replica 0 are what the process's generator draws first.
Batch examplesOf(std::uint64_t seed, int replica) {
  const at::Generator random =
      at::make_generator<at::CPUGeneratorImpl>(seed + static_cast<std::uint64_t>(replica));
  Batch batch{{"inputs", at::randn({kRows, kWidths[0]}, random)}};
  batch["targets"] = at::randint(kWidths[std::size(kWidths) - 1], {kRows}, random, at::kLong);
  return batch;
}

SampleTask makeTask(const OptimizerOptions& options) {
  SampleTask task;
  task.model = makeMlp();
  const std::uint64_t seed = at::globalContext().defaultGenerator(at::kCPU).current_seed();
  task.batch = [seed](int /*step*/, int replica) { return examplesOf(seed, replica); };
  task.rows = kRows;
  addOptimizer(task, options);
  return task;
}

}  // namespace

OptimizerOptions mlpOptimizer() { return {.kind = "sgd", .learningRate = kLearningRate}; }

SampleTask makeMlpTask() { return makeTask(mlpOptimizer()); }

std::function<SampleTask()> mlpTaskMaker(const OptimizerOptions& optimizer) {
  return [optimizer] { return makeTask(optimizer); };
}

}  // namespace pipetrace
