// Measures the blocks of a model several times, as --auto-partition does. It prints by how much the
// time of the model, and the worst time of a block, are off those of the first measurement.
//
//   block_costs_bench [MEASUREMENTS [SECONDS]]

#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <torch/nn/modules/activation.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/costs/measure_blocks.h"
#include "runtime/launch/reuse_memory.h"
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
  return std::abs(static_cast<double>(one) / static_cast<double>(other) - 1);
}

Nanoseconds timeOf(const BlockCosts& block) { return block.forward + block.backward; }

void run(int measurements, double seconds) {
  const Model model = benchedModel();
  const Batch rows{{"inputs", at::randn({kRows, kWidth})}, {"targets", at::randn({kRows, kWidth})}};
  const auto optimizer = [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::AdamW>(tensorsOf(parameters),
                                                 torch::optim::AdamWOptions(0.001));
  };
  std::vector<BlockCosts> first;
  for (int i = 0; i < measurements; ++i) {
    const std::vector<BlockCosts> blocks =
        measureBlocks({.model = model, .optimizer = optimizer}, rows,
                      static_cast<Nanoseconds>(seconds * 1e9))
            .blocks;
    if (first.empty()) first = blocks;
    Nanoseconds whole = 0;
    Nanoseconds wholeFirst = 0;
    double worst = 0;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      whole += timeOf(blocks[block]);
      wholeFirst += timeOf(first[block]);
      worst = std::max({worst, share(blocks[block].forward, first[block].forward),
                        share(blocks[block].backward, first[block].backward)});
    }
    std::printf(
        "measurement %d: %.3f ms, %.1f %% off the first, the worst time of a block %.1f %%\n", i,
        static_cast<double>(whole) / 1e6, 100 * share(whole, wholeFirst), 100 * worst);
  }
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  pipetrace::reuseFreedMemory();
  pipetrace::run(argc > 1 ? std::atoi(argv[1]) : 5, argc > 2 ? std::atof(argv[2]) : 1.5);
  return 0;
}
