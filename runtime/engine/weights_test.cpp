// Weights that are saved and loaded alone, under the same plan or another one.
#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/engine/testing/resumed_case.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

using testing::CaseModel;
using testing::engineOfCase;
using testing::errorOf;
using ::testing::HasSubstr;
using testing::ResumedCase;
using testing::rowsOfCase;
using testing::ScratchFolder;

const ResumedCase kChain{.model = CaseModel::kMlp};

at::Tensor predictionOf(Engine& engine, const ResumedCase& trained) {
  return engine.predict(rowsOfCase(trained)).at(0);
}

/// Trains, saves, and returns the prediction.
at::Tensor saved(const ResumedCase& trained, const Strategy& strategy, const std::string& folder) {
  Engine engine = engineOfCase(trained, strategy, {});
  engine.fit(rowsOfCase(trained), {.stepsPerEpoch = 3});
  engine.save(folder);
  return predictionOf(engine, trained);
}

TEST(Weights, ThatWereLoadedPredictTheSameBits) {
  const auto expectSame = [](const ResumedCase& trained, const Strategy& from, const Strategy& to) {
    const ScratchFolder folder;
    const at::Tensor expected = saved(trained, from, folder.path("the weights"));
    Engine engine = engineOfCase(trained, to, {});
    EXPECT_FALSE(at::equal(predictionOf(engine, trained), expected));
    engine.load(folder.path("the weights"));
    EXPECT_TRUE(at::equal(predictionOf(engine, trained), expected))
        << from.plan.schedule << ", " << *to.plan.ranks << " ranks";
  };
  expectSame(kChain, {.plan = {.schedule = "1F1B", .ranks = 2}},
             {.plan = {.schedule = "1F1B", .ranks = 2}});
  expectSame(kChain, {.plan = {.schedule = "PipeDream", .ranks = 4}},
             {.plan = {.schedule = "ZB-H1", .ranks = 2}});
  expectSame(kChain, {.plan = {.schedule = "DualPipe", .ranks = 4}},
             {.plan = {.ranks = 3}, .partition = {.blocks = {1, 2, 1}}});
  expectSame(kChain, {.plan = {.ranks = 2, .replicas = 2}}, {.plan = {.ranks = 4, .replicas = 2}});
}

// The model has tied weights, and dropout that no evaluation turns off.
TEST(Weights, KeepTheirBitsWhereARichModelSavesThemAgain) {
  const ScratchFolder folder;
  saved({}, {.plan = {.ranks = 2}}, folder.path("first"));
  Engine engine = engineOfCase({}, {.plan = {.schedule = "ZB-H1", .ranks = 4}}, {});
  engine.load(folder.path("first"));
  engine.save(folder.path("second"));
  for (int block = 0; block < 8; ++block) {
    const BlockState first = Checkpoint::at(folder.path("first")).read(block);
    const BlockState second = Checkpoint::at(folder.path("second")).read(block);
    ASSERT_EQ(second.tensors.size(), first.tensors.size());
    for (std::size_t i = 0; i < first.tensors.size(); ++i) {
      EXPECT_EQ(second.tensors[i].first, first.tensors[i].first);
      EXPECT_TRUE(at::equal(second.tensors[i].second, first.tensors[i].second)) << block;
    }
  }
}

TEST(Weights, ThatWereLoadedAreThoseThatTrainingBeginsFrom) {
  const ScratchFolder folder;
  Engine first = engineOfCase(kChain, {.plan = {.ranks = 2}}, {});
  first.fit(rowsOfCase(kChain), {.stepsPerEpoch = 3});
  first.save(folder.path("weights"));
  const double expected = first.evaluate(rowsOfCase(kChain), 1).loss;
  for (const char* const schedule : {"1F1B", "PipeDream"}) {
    Engine second = engineOfCase(kChain, {.plan = {.schedule = schedule, .ranks = 4}}, {});
    second.load(folder.path("weights"));
    const std::vector<double> losses = second.fit(rowsOfCase(kChain), {.stepsPerEpoch = 1}).losses;
    // In a plan without a flush later micro-batches of the step have newer weights.
    const double within = schedule == std::string("1F1B") ? 1e-6 : 0.2;
    EXPECT_NEAR(losses.at(0), expected, within * expected) << schedule;
  }
}

TEST(Weights, AreThoseOfACheckpointsStepToo) {
  const ScratchFolder folder;
  Engine first =
      engineOfCase(kChain, {.plan = {.ranks = 2}}, {.folder = folder.path("run"), .everySteps = 3});
  first.fit(rowsOfCase(kChain), {.stepsPerEpoch = 3});
  const at::Tensor expected = predictionOf(first, kChain);
  // The optimizer is another one.
  Engine second =
      engineOfCase({.model = CaseModel::kMlp, .isSgd = true}, {.plan = {.ranks = 4}}, {});
  EXPECT_THAT(errorOf([&] { second.load(folder.path("run")); }),
              HasSubstr("it has checkpoints, such as " + folder.path("run/step_3")));
  Engine third =
      engineOfCase({.model = CaseModel::kMlp, .isSgd = true}, {.plan = {.ranks = 4}}, {});
  third.load(folder.path("run/step_3"));
  EXPECT_TRUE(at::equal(predictionOf(third, kChain), expected));
}

TEST(Weights, ThatDoNotFitOrAreDamagedAreRefused) {
  const ScratchFolder folder;
  saved(kChain, {.plan = {.ranks = 2}}, folder.path("weights"));
  const auto refusal = [&](const ResumedCase& trained) {
    Engine engine = engineOfCase(trained, {.plan = {.ranks = 2}}, {});
    return errorOf([&] { engine.load(folder.path("weights")); });
  };
  EXPECT_EQ(refusal(kChain), "");
  EXPECT_THAT(refusal({}), HasSubstr("has a model of 4 blocks, and this one has 8"));
  fs::resize_file(folder.path("weights/block_3.pt"), 100);
  EXPECT_THAT(refusal(kChain), HasSubstr("block_3.pt has 100 bytes"));
  fs::remove(folder.path("weights/block_3.pt"));
  EXPECT_THAT(refusal(kChain), HasSubstr("block_3.pt is missing"));
  fs::remove(folder.path("weights/manifest.json"));
  EXPECT_THAT(refusal(kChain), HasSubstr("weights has no saved weights"));
  fs::remove_all(folder.path("weights"));
  EXPECT_THAT(refusal(kChain), HasSubstr("weights has no saved weights"));
}

TEST(Weights, ReplaceThoseThatWereSavedBeforeAndNothingElse) {
  const ScratchFolder folder;
  fs::create_directories(folder.path("weights.saving/left by a kill"));
  saved(kChain, {.plan = {.ranks = 2}}, folder.path("weights"));
  const at::Tensor expected = saved(kChain, {.plan = {.ranks = 4}}, folder.path("weights/"));
  Engine engine = engineOfCase(kChain, {.plan = {.ranks = 2}}, {});
  engine.load(folder.path("weights"));
  EXPECT_TRUE(at::equal(predictionOf(engine, kChain), expected));
  EXPECT_FALSE(fs::exists(folder.path("weights.saving")));
  fs::create_directories(folder.path("photos/of the sea"));
  EXPECT_THAT(errorOf([&] { engine.save(folder.path("photos")); }),
              HasSubstr("photos: it is there, and has something else"));
  Engine other = engineOfCase(kChain, {.plan = {.ranks = 2}}, {});
  EXPECT_THAT(errorOf([&] { other.save("/dev/null/weights"); }), HasSubstr("/dev/null/weights"));
}

TEST(Weights, AreOpenedByPythonsTorch) {
  const char* const given = std::getenv("PIPETRACE_TORCH_PYTHON");
  const std::string python = given != nullptr ? given : "python3";
  const ScratchFolder folder;
  saved(kChain, {.plan = {.ranks = 2}}, folder.path("weights"));
  std::ofstream(folder.path("look.py"))
      << "import sys\n"
         "try: import torch\n"
         "except ImportError: sys.exit(77)\n"
         "print(sum(t.double().sum().item() for t in torch.load(sys.argv[1]).values()))\n";
  const std::string look = python + " '" + folder.path("look.py") + "' '" +
                           folder.path("weights/block_1.pt") + "' 2>/dev/null";
  std::FILE* const pipe = ::popen(look.c_str(), "r");
  double found = 0;
  const int count = std::fscanf(pipe, "%lf", &found);
  if (WEXITSTATUS(::pclose(pipe)) == 77) GTEST_SKIP() << python << " cannot import torch";
  ASSERT_EQ(count, 1);
  double expected = 0;
  for (const auto& [key, tensor] : Checkpoint::at(folder.path("weights")).read(1).tensors) {
    expected += tensor.to(at::kDouble).sum().item<double>();
  }
  EXPECT_NE(expected, 0);
  EXPECT_NEAR(found, expected, 1e-9);
}

}  // namespace
}  // namespace pipetrace
