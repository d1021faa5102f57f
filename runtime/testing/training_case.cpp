#include "runtime/testing/training_case.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <cstring>
#include <map>
#include <mutex>

#include "runtime/executor.h"
#include "runtime/stage_module.h"
#include "runtime/torch_work.h"

namespace pipetrace::testing {

namespace {

constexpr int kFeatures = 12;
constexpr int kWidth = 16;
constexpr int kClasses = 5;

// The random generator is the process's: one rank at a time draws from it.
std::mutex randomMutex;

std::vector<torch::nn::Sequential> makeStages(const TrainingCase& training) {
  const std::lock_guard lock(randomMutex);
  torch::manual_seed(1234);
  std::vector<Layer> layers;
  for (int s = 0; s < training.numStages; ++s) {
    const bool last = s == training.numStages - 1;
    Layer layer{torch::nn::AnyModule(
        torch::nn::Linear(s == 0 ? kFeatures : kWidth, last ? kClasses : kWidth))};
    if (!last) layer.emplace_back(torch::nn::Tanh());
    layers.push_back(std::move(layer));
  }
  return cutIntoStages(layers, training.numStages);
}

Batch batchOf(const TrainingCase& training, int step) {
  const std::lock_guard lock(randomMutex);
  torch::manual_seed(99 + static_cast<std::uint64_t>(step));
  return {.inputs = torch::randn({training.rows, kFeatures}),
          .targets = torch::randint(kClasses, {training.rows}, torch::kLong)};
}

at::Tensor meanLoss(const at::Tensor& output, const at::Tensor& targets) {
  return torch::nn::functional::cross_entropy(output, targets);
}

std::unique_ptr<torch::optim::Optimizer> makeOptimizer(std::vector<at::Tensor> parameters) {
  return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                              torch::optim::AdamOptions(0.01));
}

void appendGradients(RankResult& result, const torch::nn::Sequential& stage) {
  for (const at::Tensor& parameter : stage->parameters()) {
    result.push_back(parameter.grad().clone());
  }
}

void appendParameters(RankResult& result, const torch::nn::Sequential& stage) {
  for (const at::Tensor& parameter : stage->parameters()) {
    result.push_back(parameter.detach().clone());
  }
}

at::Tensor lossTensor(double loss) { return torch::tensor(loss, torch::kDouble); }

// Passes everything on, and says before each backward where it is.
class WatchedWork : public StageWork {
 public:
  WatchedWork(StageWork& inner, const BeforeBackward& watcher) : inner_(inner), watcher_(watcher) {}
  void accept(const Plan& plan) override { inner_.accept(plan); }
  void beginStep(int step) override {
    step_ = step;
    inner_.beginStep(step);
  }
  void lr(int step) override { inner_.lr(step); }
  Message forward(int stage, int microBatch, Message input) override {
    return inner_.forward(stage, microBatch, std::move(input));
  }
  Message backward(int stage, int microBatch, Message gradient) override {
    if (watcher_) watcher_(step_, microBatch);
    return inner_.backward(stage, microBatch, std::move(gradient));
  }
  void optimizerStep() override { inner_.optimizerStep(); }
  bool hasSums() const override { return inner_.hasSums(); }
  Message sumsOf(int stage) override { return inner_.sumsOf(stage); }
  void addSums(int stage, const Message& sums) override { inner_.addSums(stage, sums); }
  std::optional<double> loss() const override { return inner_.loss(); }

 private:
  StageWork& inner_;
  const BeforeBackward& watcher_;
  int step_ = 0;
};

}  // namespace

RankResult trainRank(const TrainingCase& training, const CheckedPlan& plan, Transport& transport,
                     const BeforeBackward& beforeBackward) {
  torch::set_num_threads(1);
  const auto all = makeStages(training);
  std::map<int, torch::nn::Sequential> mine;
  for (const int s : plan->stagesOfRank(transport.rank())) {
    mine.emplace(s, all[static_cast<std::size_t>(s)]);
  }
  TorchWork torchWork({.numStages = training.numStages,
                       .numMicroBatches = training.microBatches,
                       .loss = meanLoss,
                       .optimizer = makeOptimizer,
                       .reportsLoss = plan->rankOfStage.back() == transport.rank()},
                      mine);
  WatchedWork work(torchWork, beforeBackward);
  Executor executor(plan, work, transport);
  RankResult result;
  for (int step = 0; step < training.steps; ++step) {
    torchWork.load(batchOf(training, step));
    executor.runStep(step);
    if (const auto loss = torchWork.loss()) result.push_back(lossTensor(*loss));
    for (const auto& [s, stage] : mine) appendGradients(result, stage);
  }
  executor.finish();
  for (const auto& [s, stage] : mine) appendParameters(result, stage);
  return result;
}

namespace {

using Tensors = std::vector<at::Tensor>;

/// The scaled loss of each micro-batch, and its gradient of each parameter.
struct Examples {
  std::vector<double> losses;
  std::vector<Tensors> gradients;  // by micro-batch: of all stages, one after the other
};

Examples runEach(const TrainingCase& training, const std::vector<torch::nn::Sequential>& stages,
                 const Tensors& parameters, int step) {
  const Batch batch = batchOf(training, step);
  const auto inputs = batch.inputs.tensor_split(training.microBatches);
  const auto targets = batch.targets.tensor_split(training.microBatches);
  Examples examples;
  for (std::size_t mb = 0; mb < inputs.size(); ++mb) {
    at::Tensor x = inputs[mb];
    for (auto stage : stages) x = stage->forward(x);
    const double rows = static_cast<double>(targets[mb].size(0));
    const at::Tensor loss = meanLoss(x, targets[mb]) * (rows / training.rows);
    examples.losses.push_back(loss.item<double>());
    loss.backward();
    Tensors gradients;
    for (at::Tensor parameter : parameters) {
      gradients.push_back(parameter.grad());
      parameter.mutable_grad() = at::Tensor();
    }
    examples.gradients.push_back(std::move(gradients));
  }
  return examples;
}

/// The micro-batches of `rank` at a stage, in the order of its actions of that pass.
std::vector<std::size_t> orderOf(const Plan& plan, int rank, int stage, bool backward) {
  std::vector<std::size_t> order;
  for (const Action& a : plan.ranks[static_cast<std::size_t>(rank)]) {
    const bool isPair = a.kind == JobKind::kForwardBackward;
    if (backward && isPair && a.backwardStage == stage) {
      order.push_back(static_cast<std::size_t>(a.backwardMicroBatch));
    }
    if (a.stage != stage) continue;
    const bool isBackward = a.kind == JobKind::kBackward || a.kind == JobKind::kBackwardInput;
    const bool isForward = isPair || a.kind == JobKind::kForward;
    if (backward ? isBackward : isForward) order.push_back(static_cast<std::size_t>(a.microBatch));
  }
  return order;
}

/// The ranks of a stage: one, or two in a bidirectional plan.
std::vector<int> ranksOf(const Plan& plan, int stage) {
  std::vector<int> ranks{plan.rankOfStage[static_cast<std::size_t>(stage)]};
  if (plan.isBidirectional()) {
    ranks.push_back(plan.rankOfStageReversed[static_cast<std::size_t>(stage)]);
  }
  return ranks;
}

/// A copy's sum, and then the sums of the copies.
at::Tensor sumOf(const Plan& plan, int stage, const Examples& examples, std::size_t parameter) {
  at::Tensor sum;
  for (const int rank : ranksOf(plan, stage)) {
    at::Tensor ofCopy;
    for (const std::size_t mb : orderOf(plan, rank, stage, true)) {
      const at::Tensor& gradient = examples.gradients[mb][parameter];
      ofCopy = ofCopy.defined() ? ofCopy + gradient : gradient;
    }
    sum = sum.defined() ? sum + ofCopy : ofCopy;
  }
  return sum;
}

double lossOf(const Plan& plan, const Examples& examples) {
  double loss = 0;
  for (const int rank : ranksOf(plan, plan.numStages - 1)) {
    double ofCopy = 0;
    for (const std::size_t mb : orderOf(plan, rank, plan.numStages - 1, false)) {
      ofCopy += examples.losses[mb];
    }
    loss += ofCopy;
  }
  return loss;
}

}  // namespace

std::vector<RankResult> trainAlone(const TrainingCase& training, const Plan& plan) {
  torch::set_num_threads(1);
  const auto stages = makeStages(training);
  Tensors parameters;
  for (const auto& stage : stages) {
    for (const at::Tensor& parameter : stage->parameters()) parameters.push_back(parameter);
  }
  const auto optimizer = makeOptimizer(parameters);
  std::vector<RankResult> results(plan.ranks.size());
  const auto append = [&](const auto& what) {
    for (int rank = 0; rank < plan.numRanks(); ++rank) {
      for (const int s : plan.stagesOfRank(rank)) {
        what(results[static_cast<std::size_t>(rank)], stages[static_cast<std::size_t>(s)]);
      }
    }
  };
  for (int step = 0; step < training.steps; ++step) {
    const Examples examples = runEach(training, stages, parameters, step);
    std::size_t next = 0;
    for (int s = 0; s < training.numStages; ++s) {
      for (at::Tensor parameter : stages[static_cast<std::size_t>(s)]->parameters()) {
        parameter.mutable_grad() = sumOf(plan, s, examples, next++);
      }
    }
    results[static_cast<std::size_t>(plan.rankOfStage.back())].push_back(
        lossTensor(lossOf(plan, examples)));
    append(appendGradients);
    optimizer->step();
    optimizer->zero_grad();
  }
  append(appendParameters);
  return results;
}

std::string firstDifference(const RankResult& a, const RankResult& b) {
  if (a.size() != b.size()) {
    return std::to_string(a.size()) + " tensors, not " + std::to_string(b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const at::Tensor x = a[i].contiguous();
    const at::Tensor y = b[i].contiguous();
    if (x.dtype() == y.dtype() && x.sizes() == y.sizes() &&
        std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0) {
      continue;
    }
    return "tensor " + std::to_string(i) + " differs";
  }
  return "";
}

}  // namespace pipetrace::testing
