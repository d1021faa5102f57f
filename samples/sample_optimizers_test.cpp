// The samples train with the optimizer and the precision of their options.
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/optim/adamw.h>
#include <torch/utils.h>

#include <string>
#include <vector>

#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"
#include "samples/char_transformer/char_model.h"
#include "samples/char_transformer/char_task.h"
#include "samples/gpipe_mlp/mlp_task.h"
#include "samples/optimizer/task_optimizer.h"
#include "samples/run_sample.h"
#include "samples/sample_task.h"
#include "trace/error.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::errorOf;

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::ProcessEnd;
using testing::runProcess;
using testing::ScratchFolder;

const std::string kMlpSample = test::inBuild("bin/sample-gpipe-mlp");
const std::string kReadme = test::inSources("README.md");

/// Small enough to train in a second.
CharTaskOptions smallTask() {
  CharTaskOptions task;
  task.data = kReadme;
  task.model = {.context = 16, .width = 16, .heads = 2, .layers = 4};
  task.rows = 16;
  return task;
}

/// The names that match a pattern anywhere are spared.
bool isDecayed(const std::vector<std::string>& patterns, const std::string& name,
               at::IntArrayRef sizes) {
  return weightDecayOf({.weightDecay = 0.1, .noDecay = patterns}).applies(name, at::zeros(sizes));
}

TEST(WeightDecayTest, MatricesAreDecayedAndVectorsAreNot) {
  EXPECT_TRUE(isDecayed({}, "0.weight", {2, 2}));
  EXPECT_TRUE(isDecayed({}, "0.weight", {2, 2, 3}));
  EXPECT_FALSE(isDecayed({}, "0.bias", {2}));
  EXPECT_FALSE(isDecayed({}, "0.scale", {}));
}

TEST(WeightDecayTest, APatternThatMatchesAnywhereInANameSparesIt) {
  EXPECT_FALSE(isDecayed({"character"}, "0.0.character.weight", {2, 2}));
  EXPECT_TRUE(isDecayed({"^character"}, "0.0.character.weight", {2, 2}));
  EXPECT_FALSE(isDecayed({"nothing", "^0\\."}, "0.0.character.weight", {2, 2}));
  EXPECT_TRUE(isDecayed({"^0\\."}, "10.0.weight", {2, 2}));
}

TEST(CharTransformerTest, ItsAdamWHasAGroupThatIsDecayedAndOneThatIsNot) {
  CharTaskOptions options = smallTask();
  options.optimizer.noDecay = {"character"};
  const SampleTask task = makeCharTask(options);
  const at::Tensor matrix = at::zeros({2, 2}).requires_grad_();
  const at::Tensor embedding = at::zeros({2, 2}).requires_grad_();
  const at::Tensor bias = at::zeros({2}).requires_grad_();
  const auto optimizer = task.optimizer({{"0.0.character.weight", embedding},
                                         {"0.1.mlp_in.weight", matrix},
                                         {"0.1.mlp_in.bias", bias}});
  const auto& groups = optimizer->param_groups();
  ASSERT_EQ(groups.size(), 2U);
  const auto decayOf = [&](std::size_t group) {
    return static_cast<const torch::optim::AdamWOptions&>(groups[group].options()).weight_decay();
  };
  EXPECT_EQ(decayOf(0), 0.01);
  EXPECT_EQ(decayOf(1), 0);
  ASSERT_EQ(groups[0].params().size(), 1U);
  EXPECT_TRUE(groups[0].params()[0].is_same(matrix));
  ASSERT_EQ(groups[1].params().size(), 2U);
  EXPECT_TRUE(groups[1].params()[0].is_same(embedding));
  EXPECT_TRUE(groups[1].params()[1].is_same(bias));
}

// By hand: top 0.4, warm-up of 2 steps, then a line to 0.1 in 3 steps.
TEST(LearningRateOptionsTest, TheRatesAreThoseOfTheScheduleTimesTheTop) {
  const auto rate = learningRateOf(
      {.learningRate = 0.4, .schedule = "linear", .warmup = 2, .finalShare = 0.25, .steps = 5});
  const double expected[] = {0.2, 0.4, 0.4, 0.3, 0.2};
  for (int step = 0; step < 5; ++step) EXPECT_NEAR(rate(step), expected[step], 1e-15) << step;
}

std::vector<double> lossesOf(const SampleOptions& options, const CharTaskOptions& task) {
  StopSignal stop;
  return runSample(
      options, [&] { return makeCharTask(task); }, stop);
}

TEST(PrecisionOptionsTest, EveryScheduleHasTheLossesOfTheOthersInBf16) {
  const SampleOptions one{.plan = {.ranks = 1}, .steps = 3, .precision = "bf16"};
  const std::vector<double> alone = lossesOf(one, smallTask());
  ASSERT_EQ(alone.size(), 3U);
  for (const char* const schedule : {"1F1B", "ZB-H1", "DualPipeV"}) {
    SampleOptions options = one;
    options.plan.schedule = schedule;
    options.plan.ranks = schedule == std::string("DualPipeV") ? 2 : 4;
    const std::vector<double> losses = lossesOf(options, smallTask());
    EXPECT_EQ(losses.at(0), alone[0]) << schedule;
    EXPECT_NEAR(losses.at(2), alone[2], 1e-4) << schedule;
  }
  SampleOptions fp32 = one;
  fp32.precision = "fp32";
  EXPECT_NE(lossesOf(fp32, smallTask()), alone);
}

TEST(PrecisionOptionsTest, ADynamicLossScaleTrainsOnSeveralRanks) {
  const SampleOptions options{
      .plan = {.ranks = 2}, .steps = 60, .precision = "fp16", .lossScale = "dynamic"};
  const std::vector<double> losses = lossesOf(options, smallTask());
  ASSERT_EQ(losses.size(), 60U);
  EXPECT_LT(losses.back(), 0.8 * losses.front());
}

TEST(MlpTaskTest, ReplicasHaveExamplesOfTheirOwnTheSameInEveryStep) {
  torch::manual_seed(1);
  const SampleTask task = makeMlpTask();
  EXPECT_TRUE(task.batch(0, 0).at("inputs").equal(task.batch(5, 0).at("inputs")));
  EXPECT_FALSE(task.batch(0, 0).at("inputs").equal(task.batch(0, 1).at("inputs")));
  EXPECT_TRUE(task.batch(0, 0).at("inputs").equal(at::randn({16, 10})));
}

TEST(PrecisionOptionsTest, AStepWithAnOverflowIsLeftOutAndItsLineSaysSo) {
  const ProcessEnd end = runProcess({kMlpSample, "--precision", "fp16", "--loss-scale", "1e8",
                                     "--steps", "2", "--transport", "in-process"});
  EXPECT_EQ(end.exitCode, 0);
  EXPECT_THAT(end.output, ContainsRegex("step 1 loss 1.5959, [0-9]+ samples/s, left out: a "
                                        "gradient is no finite number; the loss scale is 1e\\+08"));
}

TEST(ClippingOptionsTest, LossesAreTheSameForEveryNumberOfStagesAndTheNormIsInTheLog) {
  std::vector<std::vector<double>> losses;
  for (const int stages : {1, 2, 4}) {
    SampleOptions options{.plan = {.ranks = stages}, .steps = 3};
    options.clipGradNorm = 0.1;
    losses.push_back(lossesOf(options, smallTask()));
  }
  EXPECT_EQ(losses[1], losses[0]);
  EXPECT_EQ(losses[2], losses[0]);
  EXPECT_NE(lossesOf({.plan = {.ranks = 2}, .steps = 3}, smallTask()), losses[0]);
  const ScratchFolder folder;
  const ProcessEnd end = runProcess({kMlpSample, "--clip-grad-norm", "0.1", "--steps", "2",
                                     "--transport", "in-process", "--log-dir", folder.path()});
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(test::fileText(folder.path("workerlog.3")), HasSubstr("Counter: name = grad_norm"));
}

TEST(SampleNumbersTest, ProcessesWithOtherOptimizersAreNamedBeforeTheFirstStep) {
  const std::string program = test::inBuild("bin/sample-gpipe-mlp");
  const auto ends = testing::runProcesses(
      2, {"/bin/sh", "-c",
          "exec \"" + program + "\" --stages 2 --steps 1 --weight-decay 0.$((RANK + 1))"});
  for (const ProcessEnd& end : ends) {
    EXPECT_EQ(end.exitCode, 2);
    EXPECT_THAT(end.output, HasSubstr("the ranks were not started alike"));
    EXPECT_THAT(end.output, HasSubstr("weight decay 0.2"));
  }
}

// The speed is at the end of the line, where it changes nothing before it.
TEST(SampleNumbersTest, BothProgramsPrintHowFastAStepWas) {
  const ProcessEnd mlp =
      runProcess({test::inBuild("bin/sample-gpipe-mlp"), "--steps", "1", "--precision", "bf16",
                  "--lr-schedule", "cosine", "--lr-warmup", "2", "--lr-final", "0.1",
                  "--weight-decay", "0.01", "--no-decay", "a", "--no-decay", "b"});
  EXPECT_EQ(mlp.exitCode, 0) << mlp.output;
  EXPECT_THAT(mlp.output,
              ::testing::ContainsRegex("^step 0 loss [0-9]\\.[0-9]+, [0-9]+ samples/s\n"));
  const ProcessEnd transformer =
      runProcess({test::inBuild("bin/sample-char-transformer"), "--steps", "1", "--width", "16",
                  "--precision", "fp16", "--loss-scale", "512", "--peak-flops", "1e12"});
  EXPECT_EQ(transformer.exitCode, 0) << transformer.output;
  EXPECT_THAT(transformer.output,
              ::testing::ContainsRegex("^step 0 loss [0-9]\\.[0-9]+, [0-9]+ tokens/s, [0-9]+ "
                                       "samples/s, MFU 0\\.[0-9]+\n"));
}

// By hand. Layers of width 4 have 12 * 16 weights in matrices, two of them and a vocabulary of 5
// have 404. The attention of a token takes 12 * 2 * 4 * 3 = 288.
TEST(SampleNumbersTest, TheOperationsOfAWindowAreThoseOfItsWeightsAndItsAttention) {
  EXPECT_EQ(flopsOfRow({.vocabulary = 5, .context = 3, .width = 4, .heads = 2, .layers = 2}),
            3 * (6 * 404 + 288));
}

}  // namespace
}  // namespace pipetrace
