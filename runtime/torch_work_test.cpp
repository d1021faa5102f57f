#include "runtime/torch_work.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include "runtime/stage_module.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using torch::nn::AnyModule;
using torch::nn::Linear;
using torch::nn::ReLU;

TorchWorkOptions options(int stages, int microBatches) {
  return {.numStages = stages,
          .numMicroBatches = microBatches,
          .loss = [](const at::Tensor& a, const at::Tensor& b) { return at::mse_loss(a, b); },
          .optimizer =
              [](std::vector<at::Tensor> parameters) {
                return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                                           torch::optim::SGDOptions(0.5));
              }};
}

TEST(CutIntoStagesTest, LayersAreSpreadEvenlyTheLongerStagesFirst) {
  std::vector<Layer> layers;
  for (int i = 0; i < 7; ++i) layers.push_back({AnyModule(Linear(2, 2)), AnyModule(ReLU())});
  const auto stages = cutIntoStages(layers, 3);
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[0]->size(), 6U);
  EXPECT_EQ(stages[1]->size(), 4U);
  EXPECT_EQ(stages[2]->size(), 4U);
}

TEST(CutIntoStagesTest, AStageHoldsTheParametersOfItsLayers) {
  const Linear first(2, 3);
  const Linear second(3, 1);
  const auto stages = cutIntoStages({{AnyModule(first)}, {AnyModule(second)}}, 2);
  EXPECT_TRUE(stages[1]->parameters()[0].is_same(second->weight));
}

TEST(CutIntoStagesTest, FewerLayersThanStagesAreRefused) {
  EXPECT_THROW(cutIntoStages({{AnyModule(Linear(1, 1))}}, 2), Error);
  EXPECT_THROW(cutIntoStages({}, 1), Error);
  EXPECT_THROW(cutIntoStages({{AnyModule(Linear(1, 1))}}, 0), Error);
}

// One stage, y = w x, w = 2: loss and gradient by hand.
class HandCheckedWork : public ::testing::Test {
 protected:
  HandCheckedWork() {
    torch::NoGradGuard guard;
    linear_->weight.fill_(2);
  }
  TorchWork work(int microBatches) {
    torch::nn::Sequential stage(linear_);
    return {options(1, microBatches), {{0, stage}}};
  }
  static void runStep(TorchWork& work, int microBatches) {
    work.lr(0);
    for (int mb = 0; mb < microBatches; ++mb) work.forward(0, mb, {});
    for (int mb = 0; mb < microBatches; ++mb) work.backward(0, mb, {});
  }
  Linear linear_{torch::nn::LinearOptions(1, 1).bias(false)};
};

TEST_F(HandCheckedWork, UnevenMicroBatchesGiveTheMeanOverTheBatch) {
  // x = 0..4, t = 0: loss = mean((2x)^2) = 4 * 30 / 5 = 24; dloss/dw = mean(2 * 2x * x) = 24.
  TorchWork training = work(2);
  training.load(
      {.inputs = at::arange(5, at::kFloat).reshape({5, 1}), .targets = at::zeros({5, 1})});
  runStep(training, 2);
  EXPECT_NEAR(training.loss().value(), 24.0, 1e-5);
  EXPECT_NEAR(linear_->weight.grad().item<double>(), 24.0, 1e-5);
  training.optimizerStep();
  EXPECT_NEAR(linear_->weight.item<double>(), 2 - 0.5 * 24, 1e-5);
}

TEST_F(HandCheckedWork, TheNextStepStartsWithoutTheOldGradient) {
  TorchWork training = work(1);
  training.load({.inputs = at::ones({1, 1}), .targets = at::zeros({1, 1})});
  runStep(training, 1);
  runStep(training, 1);
  EXPECT_NEAR(linear_->weight.grad().item<double>(), 4.0, 1e-6);
}

TEST_F(HandCheckedWork, TheLearningRateOfTheStepIsUsed) {
  TorchWorkOptions scheduled = options(1, 1);
  scheduled.learningRate = [](int step) { return 0.1 * (step + 1); };
  TorchWork training(scheduled, {{0, torch::nn::Sequential(linear_)}});
  training.load({.inputs = at::ones({1, 1}), .targets = at::zeros({1, 1})});
  training.lr(2);
  training.forward(0, 0, {});
  training.backward(0, 0, {});
  training.optimizerStep();
  EXPECT_NEAR(linear_->weight.item<double>(), 2 - 0.3 * 4, 1e-6);
}

TEST_F(HandCheckedWork, AMicroBatchIsKeptFromItsForwardToItsBackward) {
  TorchWork training = work(3);
  training.load({.inputs = at::ones({3, 1}), .targets = at::zeros({3, 1})});
  training.lr(0);
  training.forward(0, 0, {});
  training.forward(0, 1, {});
  EXPECT_EQ(training.liveMicroBatches(), 2);
  EXPECT_FALSE(training.loss().has_value());
  training.backward(0, 0, {});
  EXPECT_EQ(training.liveMicroBatches(), 1);
  EXPECT_THROW(training.backward(0, 0, {}), Error);
}

TEST_F(HandCheckedWork, ABatchThatCannotBeSplitIsRefused) {
  TorchWork training = work(4);
  EXPECT_THROW(training.load({.inputs = at::ones({3, 1}), .targets = at::zeros({3, 1})}), Error);
  EXPECT_THROW(training.load({.inputs = at::ones({4, 1}), .targets = at::zeros({5, 1})}), Error);
  training.lr(0);
  EXPECT_THROW(training.forward(0, 0, {}), Error);
}

TEST(TorchWorkTest, AStageWithoutParametersPassesGradientsOn) {
  TorchWork training(options(3, 1), {{1, torch::nn::Sequential(ReLU())}});
  training.lr(0);
  const Message out = training.forward(1, 0, {.tensor = at::arange(-1, 2, at::kFloat)});
  EXPECT_FALSE(out.tensor.requires_grad());
  const Message back = training.backward(1, 0, {.tensor = at::ones({3})});
  EXPECT_TRUE(at::allclose(back.tensor, at::arange(-1, 2).gt(0).to(at::kFloat)));
}

TEST(TorchWorkTest, AMissingLossOrOptimizerIsReported) {
  const auto stage = [] { return torch::nn::Sequential(Linear(1, 1)); };
  EXPECT_THROW(TorchWork(options(2, 1), {{2, stage()}}), Error);
  EXPECT_THROW(TorchWork(options(2, 0), {{0, stage()}}), Error);
  TorchWorkOptions noLoss = options(2, 1);
  noLoss.loss = nullptr;
  EXPECT_THROW(TorchWork(noLoss, {{1, stage()}}), Error);
  EXPECT_NO_THROW(TorchWork(noLoss, {{0, stage()}}));
  TorchWorkOptions noOptimizer = options(2, 1);
  noOptimizer.optimizer = nullptr;
  EXPECT_THROW(TorchWork(noOptimizer, {{0, stage()}}), Error);
}

}  // namespace
}  // namespace pipetrace
