// A training that goes on from a checkpoint, under the same plan or another one.
#include <gmock/gmock.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "runtime/engine/engine.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"
#include "runtime/testing/training_case.h"
#include "runtime/testing/training_parts.h"

namespace pipetrace {
namespace {

using testing::CaseModel;
using ::testing::HasSubstr;
using testing::ScratchFolder;
using ::testing::SizeIs;
using testing::TrainingCase;

OptimizerMaker makerOfCase(bool isSgd) {
  return [isSgd](const NamedParameters& parameters) -> std::unique_ptr<torch::optim::Optimizer> {
    if (isSgd) {
      return std::make_unique<torch::optim::SGD>(tensorsOf(parameters),
                                                 torch::optim::SGDOptions(0.05).momentum(0.9));
    }
    return std::make_unique<torch::optim::AdamW>(tensorsOf(parameters),
                                                 torch::optim::AdamWOptions(0.01));
  };
}

/// Rows of a model of eight blocks, with dropout, or of an MLP.
struct ResumedCase {
  CaseModel model = CaseModel::kRich;
  bool isSgd = false;
};

constexpr int kRowsOfStep = 16;
constexpr int kStepsOfRun = 8;

DataSet rowsOfCase(const ResumedCase& trained) {
  const TrainingCase training{
      .numStages = 4, .microBatches = 4, .rows = kRowsOfStep, .model = trained.model};
  return {.rows = kRowsOfStep * kStepsOfRun,
          .batchSize = kRowsOfStep,
          .batch = [=](auto first, auto count) {
            Batch batch = testing::batchOf(training, static_cast<int>(first / kRowsOfStep), 0);
            for (auto& [name, tensor] : batch)
              tensor = tensor.narrow(0, first % kRowsOfStep, count);
            return batch;
          }};
}

Engine engineOfCase(const ResumedCase& trained, const Strategy& strategy,
                    CheckpointOptions checkpoints, StopSignal* stop = nullptr) {
  const TrainingCase training{.numStages = 4, .model = trained.model};
  Strategy own = strategy;
  own.microBatches = 4;
  EngineOptions options{.seed = testing::kSeed, .checkpoints = std::move(checkpoints)};
  options.print = options.say = [](const std::string&) {};
  options.stop = stop;
  return Engine(testing::modelOf(training), makerOfCase(trained.isSgd), {}, own,
                std::move(options));
}

std::vector<double> lossesUnder(const ResumedCase& trained, const Strategy& strategy,
                                CheckpointOptions checkpoints = {}, int steps = kStepsOfRun) {
  Engine engine = engineOfCase(trained, strategy, std::move(checkpoints));
  std::vector<double> all = engine.fit(rowsOfCase(trained), {.stepsPerEpoch = steps}).losses;
  engine.finish();
  return all;
}

std::vector<double> lastOf(std::vector<double> all, std::size_t count) {
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(count));
  return all;
}

TEST(Resume, GoesOnWithTheLossesOfTheUninterruptedRun) {
  const auto expectSame = [](const ResumedCase& trained, const Strategy& strategy) {
    const ScratchFolder folder;
    const std::vector<double> whole = lossesUnder(trained, strategy);
    const CheckpointOptions saves{.folder = folder.path("saved runs"), .everySteps = 3};
    EXPECT_EQ(lossesUnder(trained, strategy, saves), whole) << "saving changes nothing";
    // Steps after the one from which it goes on are made again.
    for (const int from : {3, static_cast<int>(whole.size()) / 3 * 3}) {
      CheckpointOptions resumes = saves;
      resumes.resumes = true;
      resumes.resumeStep = from;
      EXPECT_EQ(lossesUnder(trained, strategy, resumes),
                lastOf(whole, whole.size() - static_cast<std::size_t>(from)))
          << strategy.schedule << " from " << from;
    }
    CheckpointOptions newest = saves;
    newest.resumes = true;
    EXPECT_THAT(lossesUnder(trained, strategy, newest), SizeIs(whole.size() % 3));
  };
  expectSame({}, {.schedule = "1F1B", .ranks = 2});
  expectSame({.isSgd = true}, {.schedule = "1F1B", .ranks = 2, .replicas = 2});
  expectSame({.model = CaseModel::kMlp}, {.schedule = "PipeDream", .ranks = 4});
  expectSame({.model = CaseModel::kMlp, .isSgd = true}, {.schedule = "DualPipe", .ranks = 4});
}

// A chain has the same bits under all plans with a flush. From one without, the new plan goes on
// from the newest weights: as from the same weights in the other order.
TEST(Resume, GoesOnUnderOtherSchedulesAndNumbersOfStages) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const ScratchFolder folder;
  const CheckpointOptions saves{.folder = folder.path(), .everySteps = 4, .keep = 9};
  const std::vector<double> whole = lossesUnder(trained, {.schedule = "1F1B", .ranks = 4}, saves);
  const CheckpointOptions resumes{.folder = folder.path(), .resumes = true, .resumeStep = 4};
  for (const Strategy& other :
       {Strategy{.schedule = "FThenB", .ranks = 2}, Strategy{.schedule = "ZB-H1", .ranks = 4},
        Strategy{.schedule = "Interleaved1F1B", .ranks = 2, .chunks = 2},
        Strategy{.ranks = 3, .partition = {.blocks = {1, 2, 1}}}, Strategy{.ranks = 1}}) {
    const std::vector<double> found = lossesUnder(trained, other, resumes);
    ASSERT_THAT(found, SizeIs(4)) << other.schedule;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(found[i], whole[4 + i], 1e-6 * whole[4 + i]) << other.schedule << " " << i;
    }
  }
}

TEST(Resume, FromAPlanWithoutAFlushTakesTheNewestWeights) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const ScratchFolder folder;
  lossesUnder(trained, {.schedule = "PipeDream", .ranks = 4},
              {.folder = folder.path(), .everySteps = 4, .keep = 9});
  const CheckpointOptions resumes{.folder = folder.path(), .resumes = true, .resumeStep = 4};
  const std::vector<double> found =
      lossesUnder(trained, {.schedule = "ZB-H1", .ranks = 4}, resumes);
  EXPECT_EQ(lossesUnder(trained, {.schedule = "1F1B", .ranks = 2}, resumes), found);
  EXPECT_THAT(found, SizeIs(4));
}

TEST(Resume, IsRefusedWhereItMakesNoSense) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const Strategy strategy{.ranks = 2};
  const ScratchFolder folder;
  const auto errorOf = [&](const ResumedCase& other, const CheckpointOptions& options,
                           int steps = kStepsOfRun) {
    return testing::errorOf([&] { lossesUnder(other, strategy, options, steps); });
  };
  CheckpointOptions resumes{.folder = folder.path(), .resumes = true};
  EXPECT_THAT(errorOf(trained, resumes), HasSubstr("no checkpoint in " + folder.path()));
  lossesUnder(trained, strategy, {.folder = folder.path(), .everySteps = 4});
  EXPECT_THAT(errorOf({.model = CaseModel::kRich}, resumes), HasSubstr("block"));
  EXPECT_THAT(errorOf({.model = CaseModel::kMlp, .isSgd = true}, resumes), HasSubstr("AdamW"));
  EXPECT_THAT(errorOf(trained, resumes, 5), HasSubstr("none is left"));
  resumes.resumeStep = 5;
  EXPECT_THAT(errorOf(trained, resumes), HasSubstr("5"));
  // A signal that nobody looks for would be lost.
  for (const CheckpointOptions& without :
       {CheckpointOptions{.onStop = true}, CheckpointOptions{.resumes = true}}) {
    EXPECT_THAT(errorOf(trained, without), HasSubstr("checkpoints need a folder"));
  }
}

TEST(Resume, ASecondRunThatSavesInTheSameFolderIsRefused) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const ScratchFolder folder;
  const CheckpointOptions saves{.folder = folder.path(), .everySteps = 2};
  Engine first = engineOfCase(trained, {.ranks = 2}, saves);
  first.fit(rowsOfCase(trained), {.stepsPerEpoch = 2});
  EXPECT_THAT(testing::errorOf([&] { lossesUnder(trained, {.ranks = 2}, saves); }),
              HasSubstr(folder.path()));
  first.finish();
}

/// Trains until a signal comes in step 2, and prints why it ended. For a process of its own:
/// signals must be blocked in all its threads.
[[noreturn]] void trainUntilASignal(const std::string& folder) {
  StopSignal stop;
  Engine engine = engineOfCase({.model = CaseModel::kMlp}, {.ranks = 2},
                               {.folder = folder, .onStop = true}, &stop);
  const FitCallback interrupts{.everySteps = 1, .call = [&](const StepReport& report) {
                                 if (report.step != 2) return true;
                                 kill(getpid(), SIGTERM);
                                 while (stop.received() == 0) std::this_thread::yield();
                                 return true;
                               }};
  const std::string error = testing::errorOf(
      [&] { engine.fit(rowsOfCase({.model = CaseModel::kMlp}), {.callbacks = {interrupts}}); });
  std::fputs(error.c_str(), stderr);
  std::_Exit(stop.received());
}

TEST(ResumeDeathTest, ASignalEndsTheStepAndSaves) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ResumedCase trained{.model = CaseModel::kMlp};
  // The same in the process of the death test.
  const std::string folder = ::testing::TempDir() + "/pipetrace_saved_by_a_signal";
  std::filesystem::remove_all(folder);
  EXPECT_EXIT(trainUntilASignal(folder), ::testing::ExitedWithCode(SIGTERM),
              "stopped by a signal; the training is saved in .*saved_by_a_signal");
  const std::vector<double> whole = lossesUnder(trained, {.ranks = 2});
  const std::vector<double> rest =
      lossesUnder(trained, {.ranks = 2}, {.folder = folder, .resumes = true});
  EXPECT_EQ(rest, lastOf(whole, 5)) << "step 2 ended";
  std::filesystem::remove_all(folder);
}

TEST(Resume, ATimeEndsTheTrainingAndSaves) {
  const ResumedCase trained{.model = CaseModel::kMlp};
  const ScratchFolder folder;
  Engine engine =
      engineOfCase(trained, {.ranks = 2}, {.folder = folder.path(), .exitAfterMinutes = 1e-9});
  const FitResult result = engine.fit(rowsOfCase(trained));
  engine.finish();
  EXPECT_THAT(result.losses, SizeIs(1));
  EXPECT_THAT(result.stoppedBy, HasSubstr("minutes are over"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("step_1/manifest.json")));
}

}  // namespace
}  // namespace pipetrace
