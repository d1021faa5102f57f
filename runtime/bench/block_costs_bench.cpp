// Measures the blocks of a model several times, as --auto-partition does. It prints how long each
// measurement took. Then it compares the times of the model, and of each block's forward, whole
// backward and halves, with those of the measurements before.
//
//   block_costs_bench [MEASUREMENTS [SECONDS [MOST_SECONDS]]]

#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <torch/nn/modules/activation.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/costs/measure_costs.h"
#include "runtime/engine/engine_main.h"
#include "runtime/train/model/linear.h"

namespace pipetrace {
namespace {

constexpr std::int64_t kWidth = 256;
constexpr std::int64_t kRows = 64;

/// Blocks of a hidden layer each, some of them of four times the width.
Model benchedModel() {
  std::vector<LayerMaker> layers;
  for (const std::int64_t hidden : {4, 1, 1, 2, 1, 4, 1, 2}) {
    layers.emplace_back([hidden] {
      return std::vector{torch::nn::AnyModule(Linear(kWidth, hidden * kWidth)),
                         torch::nn::AnyModule(torch::nn::GELU()),
                         torch::nn::AnyModule(Linear(hidden * kWidth, kWidth))};
    });
  }
  return chainModel(layers, [](const at::Tensor& output, const at::Tensor& targets) {
    return at::mse_loss(output, targets);
  });
}

double share(Nanoseconds one, Nanoseconds other) {
  return static_cast<double>(std::max(one, other)) / static_cast<double>(std::min(one, other)) - 1;
}

Nanoseconds timeOf(const std::vector<BlockCosts>& blocks) {
  Nanoseconds sum = 0;
  for (const BlockCosts& block : blocks) sum += block.forward + block.backward;
  return sum;
}

constexpr Nanoseconds BlockCosts::*kTimes[] = {&BlockCosts::forward, &BlockCosts::backward,
                                               &BlockCosts::backwardInput,
                                               &BlockCosts::backwardWeight};

void run(int measurements, double seconds, double most) {
  const Model model = benchedModel();
  const Batch rows{{"inputs", at::randn({kRows, kWidth})}, {"targets", at::randn({kRows, kWidth})}};
  const auto optimizer = [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::AdamW>(tensorsOf(parameters),
                                                 torch::optim::AdamWOptions(0.001));
  };
  const RoundsWanted wanted{.rounds = 5,
                            .atLeast = static_cast<Nanoseconds>(seconds * 1e9),
                            .atMost = static_cast<Nanoseconds>(most * 1e9)};
  std::vector<std::vector<BlockCosts>> before;
  std::vector<double> all;  // shares of all times, each measurement against each one before
  for (int i = 0; i < measurements; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<BlockCosts> blocks =
        measureBlocks({.model = model, .optimizer = optimizer}, rows, wanted).blocks;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    double whole = 0;
    double worst = 0;
    for (const std::vector<BlockCosts>& other : before) {
      whole = std::max(whole, share(timeOf(blocks), timeOf(other)));
      for (std::size_t block = 0; block < blocks.size(); ++block) {
        for (const auto time : kTimes) {
          all.push_back(share(blocks[block].*time, other[block].*time));
          worst = std::max(worst, all.back());
        }
      }
    }
    std::printf(
        "measurement %d: %.3f ms in %.1f s; off the ones before: %.1f %%, a block %.1f %%\n", i,
        static_cast<double>(timeOf(blocks)) / 1e6, taken.count(), 100 * whole, 100 * worst);
    before.push_back(blocks);
  }
  if (all.empty()) return;
  const auto within = std::count_if(all.begin(), all.end(), [](double off) { return off <= 0.05; });
  std::printf("%zu times compared, %.1f %% of them within 5 %%\n", all.size(),
              100 * static_cast<double>(within) / static_cast<double>(all.size()));
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  pipetrace::reuseFreedMemory();
  pipetrace::run(argc > 1 ? std::atoi(argv[1]) : 5, argc > 2 ? std::atof(argv[2]) : 1.5,
                 argc > 3 ? std::atof(argv[3]) : 20);
  return 0;
}
