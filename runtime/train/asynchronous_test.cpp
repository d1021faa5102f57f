// Training without a flush: every version of the weights is where the plan has it.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include "runtime/executor.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/train/torch_work.h"
#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;
using testing::runConnected;
using testing::Wiring;

constexpr int kStages = 4;
constexpr int kMicroBatches = 8;
constexpr int kSteps = 2;
constexpr int kWidth = 6;

// A layer norm's weight is read by its backward from the parameter itself, a linear layer's too.
Model fourLayers() {
  const LayerMaker layer = [] {
    return std::vector{
        torch::nn::AnyModule(torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth}))),
        torch::nn::AnyModule(Linear(kWidth, kWidth)), torch::nn::AnyModule(torch::nn::Tanh())};
  };
  return chainModel(std::vector<LayerMaker>(kStages, layer),
                    [](const at::Tensor& a, const at::Tensor& b) { return at::mse_loss(a, b); });
}

Batch batchOf(int step) {
  at::Generator random = at::make_generator<at::CPUGeneratorImpl>(7 + static_cast<unsigned>(step));
  return {{"inputs", at::randn({3 * kMicroBatches, kWidth}, random)},
          {"targets", at::randn({3 * kMicroBatches, kWidth}, random)}};
}

std::unique_ptr<torch::optim::Optimizer> makeAdam(std::vector<at::Tensor> parameters) {
  return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                              torch::optim::AdamOptions(0.05));
}

std::unique_ptr<torch::optim::Optimizer> adamOfUpdates(const NamedParameters& parameters) {
  return makeAdam(tensorsOf(parameters));
}

/// The parameters by stage after the last step, and the losses.
struct Trained {
  std::vector<Tensors> parameters = std::vector<Tensors>(kStages);
  std::vector<double> losses;
};

Trained train(Wiring wiring, const CheckedPlan& plan, double recompute, Precision precision,
              double lossScale) {
  Trained trained;
  const auto errors = runConnected(wiring, kStages, [&](Transport& transport) {
    torch::set_num_threads(1);
    TorchWork work({.model = fourLayers(),
                    .partition = {.blocks = {1, 1, 1, 1},
                                  .recomputeRatio = std::vector<double>(kStages, recompute)},
                    .numMicroBatches = kMicroBatches,
                    .seed = 3,
                    .optimizer = adamOfUpdates,
                    .precision = precision,
                    .lossScale = LossScale::fixed(lossScale)},
                   {transport.rank()});
    Executor executor(plan, work, transport);
    for (int step = 0; step < kSteps; ++step) {
      work.load(batchOf(step));
      executor.runStep(step);
      if (const auto loss = work.loss(); loss && transport.rank() == kStages - 1) {
        trained.losses.push_back(*loss);
      }
    }
    executor.finish();
    for (const at::Tensor& parameter : work.parameters()) {
      trained.parameters[static_cast<std::size_t>(transport.rank())].push_back(
          parameter.detach().clone());
    }
    const int needed =
        weightVersions(*plan).stages[static_cast<std::size_t>(transport.rank())].held;
    EXPECT_EQ(work.stash(transport.rank()).mostHeld(), needed);
    EXPECT_EQ(work.stash(transport.rank()).copiedBytes(), 0);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  return trained;
}

/// The version that a micro-batch uses at a stage, counted in each step. PipeDream: forward i comes
/// right after backward i - (p - s). 2BW: group g uses what group g - 2 left.
int versionUsed(bool is2bw, int stage, int microBatch) {
  if (is2bw) return std::max(0, microBatch / kStages - 1);
  return std::max(0, microBatch - (kStages - 1 - stage));
}

/// One process: a micro-batch after the other, with copies of all versions.
Trained trainAlone(bool is2bw, Precision precision, double lossScale) {
  torch::set_num_threads(1);
  const Model made = fourLayers();
  std::vector<std::shared_ptr<BlockModule>> blocks;
  std::vector<std::unique_ptr<torch::optim::Optimizer>> optimizers;
  std::vector<Tensors> masters(kStages);
  for (int s = 0; s < kStages; ++s) {
    blocks.push_back(makeBlock(made, s, 3));
    for (const at::Tensor& p : blocks.back()->parameters()) {
      masters[static_cast<std::size_t>(s)].push_back(p.detach().clone().requires_grad_());
    }
    optimizers.push_back(makeAdam(masters[static_cast<std::size_t>(s)]));
  }
  const auto copyOf = [&](std::size_t s) {
    Tensors copy;
    for (const at::Tensor& master : masters[s]) copy.push_back(master.detach().clone());
    return copy;
  };
  Trained trained;
  const int every = is2bw ? kStages : 1;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<std::vector<Tensors>> versions(kStages);
    for (std::size_t s = 0; s < kStages; ++s) versions[s].push_back(copyOf(s));
    const Batch batch = batchOf(step);
    const auto inputs = batch.at("inputs").chunk(kMicroBatches);
    const auto targets = batch.at("targets").chunk(kMicroBatches);
    double losses = 0;
    for (int mb = 0; mb < kMicroBatches; ++mb) {
      Tensors x{inputs[static_cast<std::size_t>(mb)]};
      for (std::size_t s = 0; s < kStages; ++s) {
        const at::NoGradGuard noGrad;
        const auto used = static_cast<std::size_t>(versionUsed(is2bw, static_cast<int>(s), mb));
        const auto parameters = blocks[s]->parameters();
        for (std::size_t i = 0; i < parameters.size(); ++i) {
          at::Tensor(parameters[i]).copy_(versions[s][used][i]);
        }
      }
      at::Tensor loss;
      {
        const Autocast autocast(precision, c10::kCPU);
        for (const auto& block : blocks) x = block->run(x);
        loss = at::mse_loss(x[0], targets[static_cast<std::size_t>(mb)]) * (1.0 / every);
      }
      (loss * lossScale).backward();
      losses += loss.item<double>() * every / kMicroBatches;
      if ((mb + 1) % every != 0) continue;
      for (std::size_t s = 0; s < kStages; ++s) {
        const auto parameters = blocks[s]->parameters();
        for (std::size_t i = 0; i < parameters.size(); ++i) {
          masters[s][i].mutable_grad() = parameters[i].grad() / lossScale;
          at::Tensor(parameters[i]).mutable_grad() = at::Tensor();
        }
        optimizers[s]->step();
        versions[s].push_back(copyOf(s));
      }
    }
    trained.losses.push_back(losses);
  }
  for (std::size_t s = 0; s < kStages; ++s) trained.parameters[s] = copyOf(s);
  return trained;
}

struct AsyncCase {
  Wiring wiring;
  bool is2bw;
  double recompute;
  Precision precision = Precision::kFp32;
  double lossScale = 1;
};

std::string nameOf(const AsyncCase& each) {
  return std::string(each.wiring == Wiring::kGloo ? "Gloo" : "InProcess") +
         (each.is2bw ? "PipeDream2bw" : "PipeDream") + (each.recompute > 0 ? "Recomputing" : "") +
         (each.precision == Precision::kBf16   ? "Bf16"
          : each.precision == Precision::kFp16 ? "Fp16"
                                               : "");
}

void PrintTo(const AsyncCase& each, std::ostream* out) { *out << nameOf(each); }

class AsynchronousTest : public ::testing::TestWithParam<AsyncCase> {};

TEST_P(AsynchronousTest, TrainsWithTheBitsOfOneProcessThatKeepsAllVersions) {
  const auto& [wiring, is2bw, recompute, precision, lossScale] = GetParam();
  const CheckedPlan plan =
      buildSchedule(is2bw ? "PipeDream-2BW" : "PipeDream", kStages, kMicroBatches);
  const Trained ours = train(wiring, plan, recompute, precision, lossScale);
  const Trained alone = trainAlone(is2bw, precision, lossScale);
  for (std::size_t s = 0; s < kStages; ++s) {
    ASSERT_EQ(ours.parameters[s].size(), alone.parameters[s].size());
    for (std::size_t i = 0; i < alone.parameters[s].size(); ++i) {
      EXPECT_TRUE(ours.parameters[s][i].equal(alone.parameters[s][i]))
          << "stage " << s << ", parameter " << i << ", off by "
          << (ours.parameters[s][i] - alone.parameters[s][i]).abs().max().item<double>();
    }
  }
  ASSERT_EQ(ours.losses.size(), alone.losses.size());
  for (std::size_t i = 0; i < alone.losses.size(); ++i) {
    EXPECT_NEAR(ours.losses[i], alone.losses[i], 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, AsynchronousTest,
    ::testing::Values(AsyncCase{Wiring::kInProcess, false, 0},
                      AsyncCase{Wiring::kInProcess, false, 1},
                      AsyncCase{Wiring::kInProcess, true, 0}, AsyncCase{Wiring::kGloo, false, 0},
                      AsyncCase{Wiring::kGloo, true, 1},
                      AsyncCase{Wiring::kInProcess, false, 0, Precision::kBf16},
                      AsyncCase{Wiring::kGloo, true, 1, Precision::kFp16, 256}),
    [](const auto& test) { return nameOf(test.param); });

TEST(Asynchronous, TiedParametersAreRefused) {
  Model tied = fourLayers();
  tied.ties = {{{"layer 0", "1.weight"}, {"layer 1", "1.weight"}}};
  TorchWork work({.model = tied,
                  .partition = {.blocks = {1, 1, 1, 1}},
                  .numMicroBatches = kMicroBatches,
                  .optimizer = adamOfUpdates},
                 {0});
  const CheckedPlan plan = buildSchedule("PipeDream", kStages, kMicroBatches);
  EXPECT_THAT(errorOf([&] { work.accept(*plan, 0); }), HasSubstr("tied parameters"));
}

}  // namespace
}  // namespace pipetrace
