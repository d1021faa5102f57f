#include "runtime/train/torch_work.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <atomic>
#include <numeric>

#include "runtime/testing/error_of.h"
#include "schedule/build_schedule.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;
using torch::nn::AnyModule;

LayerMaker layer(const AnyModule& module) {
  return [module] { return std::vector{module}; };
}

Model chainOf(const std::vector<AnyModule>& modules) {
  std::vector<LayerMaker> layers;
  for (const AnyModule& module : modules) layers.push_back(layer(module));
  return chainModel(layers,
                    [](const at::Tensor& a, const at::Tensor& b) { return at::mse_loss(a, b); });
}

TorchWorkOptions options(Model model, int stages, int microBatches) {
  const auto blocks = static_cast<int>(model.blocks.size());
  return {.model = std::move(model),
          .partition = evenPartition(blocks, stages),
          .numMicroBatches = microBatches,
          .optimizer = [](const NamedParameters& parameters) {
            return std::make_unique<torch::optim::SGD>(tensorsOf(parameters),
                                                       torch::optim::SGDOptions(0.5));
          }};
}

// One stage, y = w x, w = 2: loss and gradient by hand.
class HandCheckedWork : public ::testing::Test {
 protected:
  HandCheckedWork() {
    torch::NoGradGuard guard;
    linear_->weight.fill_(2);
  }
  TorchWork work(int microBatches) {
    return {options(chainOf({AnyModule(linear_)}), 1, microBatches), {0}};
  }
  static void forward(TorchWork& work, int microBatch) { work.runForward(0, microBatch, {}); }
  static void backward(TorchWork& work, int microBatch) { work.runBackward(0, microBatch, {}); }
  /// The end of a step, as the executor has it where one rank has all stages.
  static void agreeAlone(TorchWork& work) {
    const std::vector<double> terms = work.scalarAllReduceTerms({0}).at(0);
    const double sum = std::accumulate(terms.begin(), terms.end(), 0.0);
    work.takeScalarSum(sum);
    work.optimizerStep();
  }
  static void runStep(TorchWork& work, int microBatches) {
    work.beginStep(0);
    work.lr(0);
    for (int mb = 0; mb < microBatches; ++mb) forward(work, mb);
    for (int mb = 0; mb < microBatches; ++mb) backward(work, mb);
  }
  static Batch ones(std::int64_t rows) {
    return {{"inputs", at::ones({rows, 1})}, {"targets", at::zeros({rows, 1})}};
  }
  torch::nn::Linear linear_{torch::nn::LinearOptions(1, 1).bias(false)};
};

TEST_F(HandCheckedWork, AStepTakesItsOwnBatchWhereTheOptionsHaveAFunctionForIt) {
  // x = s + 1, t = 0: loss = (2 (s + 1))^2.
  TorchWorkOptions loading = options(chainOf({AnyModule(linear_)}), 1, 1);
  loading.batch = [](int step, int /*replica*/) -> Batch {
    return {{"inputs", at::full({1, 1}, step + 1.0F)}, {"targets", at::zeros({1, 1})}};
  };
  loading.steps = 2;
  TorchWork training(loading, {0});
  ASSERT_TRUE(training.hasData());
  for (int step = 0; step < 2; ++step) {
    training.beginStep(step);
    training.awaitData(step);
    training.lr(step);
    forward(training, 0);
    backward(training, 0);
    EXPECT_EQ(training.loss(), step == 0 ? 4 : 16);
  }
}

TEST_F(HandCheckedWork, WithoutAFunctionForBatchesThereIsNoDataToWaitFor) {
  EXPECT_FALSE(work(1).hasData());
}

TEST_F(HandCheckedWork, AnErrorOfTheDataComesAtItsStep) {
  TorchWorkOptions loading = options(chainOf({AnyModule(linear_)}), 1, 2);
  loading.batch = [](int step, int /*replica*/) {
    if (step == 0) throw Error("the file is gone");
    return ones(1);
  };
  loading.steps = 2;
  TorchWork training(loading, {0});
  EXPECT_EQ(errorOf([&] { training.awaitData(0); }), "the file is gone");
  EXPECT_THAT(errorOf([&] { training.awaitData(1); }), HasSubstr("a batch of 1 rows cannot be"));
  loading.steps = 0;
  EXPECT_EQ(errorOf([&] { const TorchWork none(loading, {0}); }),
            "loading data ahead needs the number of steps");
}

TEST(TorchWorkDataTest, OnlyRanksThatNeedTheBatchLoadIt) {
  std::atomic<int> calls = 0;
  const auto work = [&](int stage) {
    const AnyModule linear{torch::nn::Linear(1, 1)};
    TorchWorkOptions loading = options(chainOf({linear, linear, linear}), 3, 1);
    loading.batch = [&](int, int) -> Batch {
      ++calls;
      return {{"inputs", at::ones({1, 1})}, {"targets", at::zeros({1, 1})}};
    };
    loading.steps = 1;
    return TorchWork(loading, {stage});
  };
  EXPECT_FALSE(work(1).hasData());
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(work(0).hasData());
  TorchWork last = work(2);
  ASSERT_TRUE(last.hasData());
  last.awaitData(0);
  EXPECT_GT(calls, 0);
}

TEST_F(HandCheckedWork, UnevenMicroBatchesGiveTheMeanOverTheBatch) {
  // x = 0..4, t = 0: loss = mean((2x)^2) = 4 * 30 / 5 = 24; dloss/dw = mean(2 * 2x * x) = 24.
  TorchWork training = work(2);
  training.load(
      {{"inputs", at::arange(5, at::kFloat).reshape({5, 1})}, {"targets", at::zeros({5, 1})}});
  runStep(training, 2);
  EXPECT_NEAR(training.loss().value(), 24.0, 1e-5);
  EXPECT_NEAR(linear_->weight.grad().item<double>(), 24.0, 1e-5);
  training.optimizerStep();
  EXPECT_NEAR(linear_->weight.item<double>(), 2 - 0.5 * 24, 1e-5);
}

TEST_F(HandCheckedWork, TheNextStepStartsWithoutTheOldGradient) {
  TorchWork training = work(1);
  training.load(ones(1));
  runStep(training, 1);
  runStep(training, 1);
  EXPECT_NEAR(linear_->weight.grad().item<double>(), 4.0, 1e-6);
}

TEST_F(HandCheckedWork, TheLearningRateOfTheStepIsUsed) {
  TorchWorkOptions scheduled = options(chainOf({AnyModule(linear_)}), 1, 1);
  scheduled.learningRate = [](int step) { return 0.1 * (step + 1); };
  TorchWork training(scheduled, {0});
  training.load(ones(1));
  training.lr(2);
  forward(training, 0);
  backward(training, 0);
  training.optimizerStep();
  EXPECT_NEAR(linear_->weight.item<double>(), 2 - 0.3 * 4, 1e-6);
}

// PipeDream, one stage: each micro-batch's update makes w of w - r 2w.
TEST_F(HandCheckedWork, UpdatesWithoutAFlushHaveTheLearningRateOfTheirStep) {
  TorchWorkOptions scheduled = options(chainOf({AnyModule(linear_)}), 1, 2);
  scheduled.learningRate = [](int step) { return 0.1 * (step + 1); };
  TorchWork training(scheduled, {0});
  const CheckedPlan plan = buildSchedule("PipeDream", 1, 2);
  training.accept(*plan, 0);
  const double expected[] = {2 * 0.8 * 0.8, 2 * 0.8 * 0.8 * 0.6 * 0.6};
  for (int step = 0; step < 2; ++step) {
    training.load(ones(2));
    training.beginStep(step);
    training.lr(step);
    for (int mb = 0; mb < 2; ++mb) {
      forward(training, mb);
      backward(training, mb);
      training.update(0);
    }
    EXPECT_NEAR(linear_->weight.item<double>(), expected[step], 1e-6);
  }
}

// loss = (w x)^2 = 4, dloss/dw = 2 w = 4.
TEST_F(HandCheckedWork, ALossScaleMultipliesTheGradientsUntilTheOptimizersStep) {
  TorchWorkOptions scaled = options(chainOf({AnyModule(linear_)}), 1, 1);
  scaled.lossScale = LossScale::fixed(8);
  TorchWork training(scaled, {0});
  training.load(ones(1));
  runStep(training, 1);
  EXPECT_EQ(training.loss().value(), 4);
  EXPECT_EQ(linear_->weight.grad().item<double>(), 8 * 4);
  agreeAlone(training);
  EXPECT_EQ(linear_->weight.grad().item<double>(), 4);
  EXPECT_EQ(linear_->weight.item<double>(), 2 - 0.5 * 4);
}

Batch batchWithAnOverflow() {
  return {{"inputs", at::full({1, 1}, 1e30)}, {"targets", at::zeros({1, 1})}};
}

TEST_F(HandCheckedWork, AnOverflowLeavesOutTheStepAndHalvesADynamicScale) {
  TorchWorkOptions scaled = options(chainOf({AnyModule(linear_)}), 1, 1);
  for (const bool isDynamic : {true, false}) {
    {
      const torch::NoGradGuard guard;
      linear_->weight.fill_(2);
    }
    scaled.lossScale = isDynamic ? LossScale::dynamic() : LossScale::fixed(8);
    TorchWork training(scaled, {0});
    const double first = isDynamic ? 32'768 : 8;
    training.load(batchWithAnOverflow());
    runStep(training, 1);
    agreeAlone(training);
    EXPECT_TRUE(training.agreement().leftOutStep());
    EXPECT_EQ(linear_->weight.item<double>(), 2) << "the weight is as it was";
    EXPECT_EQ(training.agreement().lossScale().value(), first);
    training.load(ones(1));
    runStep(training, 1);
    EXPECT_EQ(linear_->weight.grad().item<double>(), first * 4);
    agreeAlone(training);
    EXPECT_FALSE(training.agreement().leftOutStep());
    EXPECT_EQ(linear_->weight.item<double>(), 2 - 0.5 * 4);
    EXPECT_EQ(training.agreement().lossScale().value(), first);
  }
}

TEST_F(HandCheckedWork, The20thOverflowInARowEndsTraining) {
  TorchWorkOptions scaled = options(chainOf({AnyModule(linear_)}), 1, 1);
  scaled.lossScale = LossScale::dynamic();
  TorchWork training(scaled, {0});
  training.load(batchWithAnOverflow());
  for (int step = 0; step < 19; ++step) {
    runStep(training, 1);
    agreeAlone(training);
  }
  runStep(training, 1);
  EXPECT_THAT(errorOf([&] { agreeAlone(training); }),
              HasSubstr("step 0: gradients were no finite numbers in 20 steps in a row"));
}

// loss = (w x)^2 = 4, dloss/dw = 4: a norm of 4.
TEST_F(HandCheckedWork, GradientsAreClippedToTheNormAndSmallerOnesAreNot) {
  for (const double most : {1.0, 8.0}) {
    {
      const torch::NoGradGuard guard;
      linear_->weight.fill_(2);
    }
    TorchWorkOptions clipped = options(chainOf({AnyModule(linear_)}), 1, 1);
    clipped.clipNorm = most;
    TorchWork training(clipped, {0});
    training.load(ones(1));
    runStep(training, 1);
    agreeAlone(training);
    EXPECT_EQ(training.agreement().norm(), 4);
    ASSERT_EQ(training.counters().size(), 1U);
    EXPECT_EQ(training.counters()[0].first, std::string("grad_norm"));
    EXPECT_EQ(training.counters()[0].second, 4);
    EXPECT_NEAR(linear_->weight.item<double>(), 2 - 0.5 * std::min(most, 4.0), 1e-6);
  }
}

TEST_F(HandCheckedWork, ANormThatIsNoFiniteNumberEndsTrainingWithoutALossScale) {
  TorchWorkOptions clipped = options(chainOf({AnyModule(linear_)}), 1, 1);
  clipped.clipNorm = 1;
  TorchWork training(clipped, {0});
  training.load(batchWithAnOverflow());
  runStep(training, 1);
  EXPECT_THAT(errorOf([&] { agreeAlone(training); }),
              HasSubstr("step 0: the norm of the gradients is no finite number"));
}

TEST_F(HandCheckedWork, PlansWithoutAFlushEndTrainingAtAnOverflowAndRefuseToClip) {
  TorchWorkOptions scaled = options(chainOf({AnyModule(linear_)}), 1, 1);
  scaled.lossScale = LossScale::fixed(8);
  const CheckedPlan plan = buildSchedule("PipeDream", 1, 1);
  TorchWork training(scaled, {0});
  training.accept(*plan, 0);
  EXPECT_FALSE(training.agrees());
  training.load(batchWithAnOverflow());
  training.beginStep(0);
  runStep(training, 1);
  EXPECT_THAT(errorOf([&] { training.update(0); }),
              HasSubstr("a gradient is no finite number with the loss scale 8"));
  scaled.clipNorm = 1;
  TorchWork clipping(scaled, {0});
  EXPECT_THAT(
      errorOf([&] { clipping.accept(*plan, 0); }),
      HasSubstr("clipping by the norm: the plan PipeDream changes the weights of each stage"));
}

TEST_F(HandCheckedWork, AMicroBatchIsKeptFromItsForwardToItsBackward) {
  TorchWork training = work(3);
  training.load(ones(3));
  training.lr(0);
  forward(training, 0);
  forward(training, 1);
  EXPECT_EQ(training.liveMicroBatches().size(), 2U);
  EXPECT_FALSE(training.loss().has_value());
  backward(training, 0);
  EXPECT_EQ(training.liveMicroBatches().size(), 1U);
  EXPECT_THROW(backward(training, 0), Error);
}

TEST_F(HandCheckedWork, ABatchThatCannotBeSplitIsRefused) {
  TorchWork training = work(4);
  EXPECT_THAT(errorOf([&] { training.load(ones(3)); }),
              HasSubstr("3 rows cannot be split into 4 micro-batches"));
  Batch uneven = ones(4);
  uneven["targets"] = at::zeros({5, 1});
  EXPECT_THAT(errorOf([&] { training.load(uneven); }),
              HasSubstr("4 rows of inputs, but 5 of targets"));
  uneven.erase("inputs");
  EXPECT_THAT(errorOf([&] { training.load(uneven); }), HasSubstr("has no tensor inputs"));
  training.lr(0);
  EXPECT_THAT(errorOf([&] { forward(training, 0); }), HasSubstr("stage 0 has no batch"));
}

TEST(TorchWork, ARankNeedsOnlyThoseTensorsOfTheBatchThatItsBlocksUse) {
  const auto linear = [] { return AnyModule(torch::nn::Linear(1, 1)); };
  const Model model = chainOf({linear(), linear(), linear()});
  EXPECT_THAT(TorchWork(options(model, 3, 1), {0}).neededOfBatch(),
              ::testing::ElementsAre("inputs"));
  EXPECT_THAT(TorchWork(options(model, 3, 1), {1}).neededOfBatch(), ::testing::IsEmpty());
  EXPECT_THAT(TorchWork(options(model, 3, 1), {2}).neededOfBatch(),
              ::testing::ElementsAre("targets"));
}

TEST(TorchWork, AStageWithoutParametersPassesGradientsOn) {
  const auto relu = [] { return AnyModule(torch::nn::ReLU()); };
  TorchWork training(options(chainOf({relu(), relu(), relu()}), 3, 1), {1});
  training.lr(0);
  std::vector<Message> in{{.tensor = at::arange(-1, 2, at::kFloat)}};
  std::vector<Message> out(1);
  training.runForward(1, 0, {in, out});
  EXPECT_FALSE(out[0].tensor.requires_grad());
  in[0].tensor = at::ones({3});
  training.runBackward(1, 0, {in, out});
  EXPECT_TRUE(at::allclose(out[0].tensor, at::arange(-1, 2).gt(0).to(at::kFloat)));
}

TEST(TorchWork, AMissingOrUnfittingPartIsReported) {
  const Model model =
      chainOf({AnyModule(torch::nn::Linear(1, 1)), AnyModule(torch::nn::Linear(1, 1))});
  EXPECT_THROW(TorchWork(options(model, 2, 1), {2}), Error);
  EXPECT_THROW(TorchWork(options(model, 2, 0), {0}), Error);
  TorchWorkOptions noOptimizer = options(model, 2, 1);
  noOptimizer.optimizer = nullptr;
  EXPECT_THAT(errorOf([&] { TorchWork(noOptimizer, {0}); }), HasSubstr("needs an optimizer"));
  TorchWorkOptions noLoss = options(model, 2, 1);
  noLoss.model.loss = nullptr;
  EXPECT_THAT(errorOf([&] { TorchWork(noLoss, {0}); }), HasSubstr("no loss function"));
  TorchWork fine(options(model, 2, 1), {0});
  EXPECT_THAT(errorOf([&] { fine.accept(buildSchedule("1F1B", 3, 2), 0); }),
              HasSubstr("cut into 2 stages, but the plan 1F1B has 3"));
}

TEST(TorchWork, TiedParametersOfOneRankBeginEqualAndStayEqual) {
  Model model = chainOf({AnyModule(torch::nn::Linear(2, 2)), AnyModule(torch::nn::Linear(2, 2))});
  model.ties = {{{"layer 0", "0.weight"}, {"layer 1", "0.weight"}}};
  TorchWork training(options(model, 1, 1), {0});
  const auto weights = [&] {
    return std::pair(training.parameters()[0], training.parameters()[2]);
  };
  EXPECT_TRUE(weights().first.equal(weights().second));
  training.load({{"inputs", at::ones({3, 2})}, {"targets", at::zeros({3, 2})}});
  training.lr(0);
  training.runForward(0, 0, {});
  training.runBackward(0, 0, {});
  const at::Tensor sum = weights().first.grad() + weights().second.grad();
  training.addTiedSums();
  EXPECT_TRUE(weights().first.grad().equal(sum));
  training.optimizerStep();
  EXPECT_TRUE(weights().first.equal(weights().second));

  model.ties = {{{"layer 0", "0.weight"}, {"layer 1", "0.bias"}}};
  EXPECT_THAT(errorOf([&] { TorchWork(options(model, 1, 1), {0}); }),
              HasSubstr("0.bias of block 1 (layer 1) is tied to 0.weight of block 0 (layer 0)"));
  model.ties = {{{"layer 0", "weight"}, {"layer 1", "0.weight"}}};
  EXPECT_THAT(errorOf([&] { TorchWork(options(model, 1, 1), {0}); }),
              HasSubstr("block 0 (layer 0) has no parameter weight"));
}

}  // namespace
}  // namespace pipetrace
