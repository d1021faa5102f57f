// Trains a transformer on two ranks, with recompute ratios 0, 0.3 and 1. For each it prints the
// most memory that a rank has, as LibTorch's allocator counts it, and the median step; beside both
// what Engine::cost() predicts. The ranks that train are threads of one core each. Memory is
// counted in a run of the same jobs in turn.
//
//   recompute_bench [layers [width [steps]]]
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/transformerlayer.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/costs/ranks_in_turn.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/engine_main.h"
#include "runtime/engine/training_plan.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kRanks = 2;
constexpr int kMicroBatches = 4;
constexpr std::int64_t kRows = 8;  // of a micro-batch
constexpr std::int64_t kTokens = 128;
constexpr std::int64_t kVocabulary = 512;

class NextToken : public torch::nn::Module {
 public:
  explicit NextToken(std::int64_t width)
      : linear_(register_module("linear", torch::nn::Linear(width, kVocabulary))) {}
  at::Tensor forward(const at::Tensor& input) { return linear_(input).flatten(0, 1); }

 private:
  torch::nn::Linear linear_;
};

Model transformer(int layers, std::int64_t width) {
  std::vector<LayerMaker> all;
  all.emplace_back(
      [=] { return std::vector{torch::nn::AnyModule(torch::nn::Embedding(kVocabulary, width))}; });
  for (int i = 0; i < layers; ++i) {
    all.emplace_back([=] {
      torch::nn::TransformerEncoderLayerOptions options(width, 4);
      options.dim_feedforward(4 * width).dropout(0);
      return std::vector{torch::nn::AnyModule(torch::nn::TransformerEncoderLayer(options))};
    });
  }
  all.emplace_back(
      [=] { return std::vector{torch::nn::AnyModule(std::make_shared<NextToken>(width))}; });
  return chainModel(all, [](const at::Tensor& output, const at::Tensor& targets) {
    return at::cross_entropy_loss(output, targets.flatten());
  });
}

std::unique_ptr<torch::optim::Optimizer> adam(const NamedParameters& parameters) {
  return std::make_unique<torch::optim::Adam>(tensorsOf(parameters), 1e-4);
}

Batch randomRows(std::int64_t rows) {
  return {{"inputs", at::randint(kVocabulary, {rows, kTokens})},
          {"targets", at::randint(kVocabulary, {rows, kTokens})}};
}

/// By rank: the most bytes of a second step, with weights, gradients and the optimizer's state.
std::vector<std::int64_t> countedPeaks(const Model& model, const Strategy& strategy) {
  const TrainingPlan training =
      trainingPlanOf(strategy, static_cast<int>(model.blocks.size()), false);
  const Plan& plan = *training.plan;
  RanksInTurn ranks({.model = model,
                     .partition = training.partition,
                     .numMicroBatches = kMicroBatches,
                     .optimizer = adam},
                    plan.stagesByRank(), randomRows(kRows * kMicroBatches));
  for (const bool isFirst : {true, false}) {
    ranks.runStep(plan);
    for (int rank = 0; rank < kRanks && isFirst; ++rank) {
      ranks.update(rank);
      ranks.forgetMost(rank);
    }
  }
  std::vector<std::int64_t> peaks;
  for (int rank = 0; rank < kRanks; ++rank) {
    peaks.push_back(ranks.weights(rank) + ranks.gradients(rank) + ranks.most(rank));
  }
  return peaks;
}

void measure(const Model& model, double ratio, int steps) {
  Strategy strategy{.plan = {.ranks = kRanks, .microBatches = kMicroBatches}};
  strategy.recomputeRatio = ratio;
  const DataSet data =
      dataSetOf(randomRows(kRows * kMicroBatches * (steps + 2)), kRows * kMicroBatches);
  EngineOptions options;
  options.print = options.say = [](const std::string&) {};
  Engine engine(model, adam, {}, strategy, options);
  const EngineCost cost = engine.cost(data);
  std::vector<double> times;
  auto before = std::chrono::steady_clock::now();
  const FitCallback timed{.call = [&](const StepReport& report) {
    const auto now = std::chrono::steady_clock::now();
    if (report.step > 1)
      times.push_back(std::chrono::duration<double, std::milli>(now - before).count());
    before = now;
    return true;
  }};
  engine.fit(data, {.logFreq = 0, .callbacks = {timed}});
  engine.finish();
  std::sort(times.begin(), times.end());
  const double step = times[times.size() / 2];
  const double predicted = static_cast<double>(cost.step) / 1e6;
  std::printf("ratio %.1f: step %7.1f ms, predicted %7.1f (%+.1f %%)", ratio, step, predicted,
              100 * (predicted / step - 1));
  const std::vector<std::int64_t> peaks = countedPeaks(model, strategy);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    const double most = static_cast<double>(peaks[rank]) / 1e6;
    const double planned = static_cast<double>(cost.peakBytes[rank]) / 1e6;
    std::printf("; rank %zu %7.2f MB, predicted %7.2f (%+.1f %%)", rank, most, planned,
                100 * (planned / most - 1));
  }
  std::printf("\n");
  std::fflush(stdout);
}

int run(int layers, std::int64_t width, int steps) {
  reuseFreedMemory();
  at::set_num_threads(1);
  const Model model = transformer(layers, width);
  for (const double ratio : {0.0, 0.3, 1.0}) measure(model, ratio, steps);
  return 0;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  try {
    const auto number = [&](int i, int otherwise) {
      return argc > i ? std::max(1, std::atoi(argv[i])) : otherwise;
    };
    return pipetrace::run(number(1, 12), number(2, 256), number(3, 8));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "recompute_bench: %s\n", error.what());
    return 2;
  }
}
