// sample-bert trains alike under every plan.
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"
#include "samples/bert/bert_task.h"
#include "samples/run_sample.h"
#include "samples/sample_task.h"
#include "samples/testing/without_speeds.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProcessEnd;
using testing::runProcess;
using testing::runProcesses;
using testing::ScratchFolder;
using testing::withoutSpeeds;

const std::string kBert = test::inBuild("bin/sample-bert");
const std::string kBertFolder = test::inSources("samples/bert/");

/// Four layers, nine blocks: enough for four stages, and a second for 50 steps.
BertTaskOptions shortBert(bool isTied) {
  BertTaskOptions task;
  task.config.width = 32;
  task.config.inner = 64;
  task.length = 32;
  task.rows = 8;
  task.isTied = isTied;
  return task;
}

std::vector<double> lossesOfBert(const SampleOptions& options, BertTaskOptions task) {
  StopSignal stop;
  task.optimizer.steps = options.steps;
  return runSample(options, bertTaskMaker(task), stop);
}

double meanOf(const std::vector<double>& losses, std::size_t from, std::size_t to) {
  return std::accumulate(losses.begin() + static_cast<std::ptrdiff_t>(from),
                         losses.begin() + static_cast<std::ptrdiff_t>(to), 0.0) /
         static_cast<double>(to - from);
}

constexpr int kSteps = 50;

TEST(BertTraining, WithoutTiesFourStagesHaveTheBitsOfOneProcess) {
  const SampleOptions one{.plan = {.ranks = 1, .microBatches = 4}, .steps = kSteps};
  SampleOptions four = one;
  four.plan.ranks = 4;
  const std::vector<double> losses = lossesOfBert(four, shortBert(false));
  ASSERT_EQ(losses.size(), 50U);
  EXPECT_EQ(losses, lossesOfBert(one, shortBert(false)));
}

TEST(BertTraining, WithTiesFourStagesHaveTheLossesOfOneProcess) {
  const SampleOptions one{.plan = {.ranks = 1, .microBatches = 4}, .steps = kSteps};
  SampleOptions four = one;
  four.plan.ranks = 4;
  const std::vector<double> losses = lossesOfBert(four, shortBert(true));
  const std::vector<double> alone = lossesOfBert(one, shortBert(true));
  ASSERT_EQ(losses.size(), 50U);
  ASSERT_EQ(alone.size(), 50U);
  for (std::size_t step = 0; step < losses.size(); ++step) {
    EXPECT_NEAR(losses[step], alone[step], 1e-5) << "step " << step;
  }
  EXPECT_NE(losses, lossesOfBert(four, shortBert(false))) << "ties change something";
}

// At first every piece is about as likely: log(4096) = 8.3.
TEST(BertTraining, TheLossFalls) {
  BertTaskOptions task;
  task.rows = 16;
  const std::vector<double> losses =
      lossesOfBert({.plan = {.ranks = 4, .microBatches = 4}, .steps = 80}, task);
  ASSERT_EQ(losses.size(), 80U);
  EXPECT_NEAR(losses.front(), std::log(4096), 0.2);
  EXPECT_LT(meanOf(losses, 20, 30), meanOf(losses, 0, 10) - 0.5);
  EXPECT_LT(meanOf(losses, 70, 80), meanOf(losses, 20, 30) - 0.3);
}

TEST(BertTraining, EveryOptimizerLearns) {
  for (const auto& [kind, rate] : {std::pair{"adamw", 2e-3}, {"lamb", 0.03}, {"sgd", 1.0}}) {
    BertTaskOptions task = shortBert(true);
    task.optimizer.kind = kind;
    task.optimizer.learningRate = rate;
    const auto losses =
        lossesOfBert({.plan = {.ranks = 2, .microBatches = 4}, .steps = kSteps}, task);
    EXPECT_LT(meanOf(losses, 45, 50), losses.front() - 0.5) << kind;
  }
  BertTaskOptions task = shortBert(true);
  task.optimizer.kind = "adagrad";
  EXPECT_THAT(errorOf([&] { makeBertTask(task); }), HasSubstr("there is no optimizer adagrad"));
}

TEST(BertTraining, LambTrainsWithOldVersionsOfTheWeights) {
  for (const char* const rule : {"newest", "oldest"}) {
    BertTaskOptions task = shortBert(false);
    task.optimizer.kind = "lamb";
    task.optimizer.learningRate = 0.03;
    task.optimizer.warmup = 2;
    SampleOptions options{.plan = {.schedule = "PipeDream", .ranks = 4, .microBatches = 8},
                          .steps = 10};
    options.stashUpdate = rule;
    const auto losses = lossesOfBert(options, task);
    EXPECT_LT(losses.back(), losses.front() - 0.5) << rule;
  }
}

TEST(BertTraining, AModelThatDoesNotFitIsRefused) {
  BertTaskOptions task = shortBert(true);
  task.length = 129;
  EXPECT_THAT(errorOf([&] { makeBertTask(task); }), HasSubstr("longer than the model's 128"));
  task = shortBert(true);
  task.config.vocabulary = 4095;
  EXPECT_THAT(errorOf([&] { makeBertTask(task); }),
              HasSubstr("the vocabulary has 4096 pieces, but the model only 4095"));
  task = shortBert(true);
  task.vocabulary = "/nonexistent/vocabulary";
  EXPECT_THAT(errorOf([&] { makeBertTask(task); }), HasSubstr("/nonexistent/vocabulary"));
  task = shortBert(true);
  task.data = "/nonexistent/text";
  EXPECT_THAT(errorOf([&] { makeBertTask(task); }), HasSubstr("/nonexistent/text"));
}

// From here on: the program itself.

TEST(BertProgram, FourProcessesPrintTheLossesThatOneProcessPrints) {
  const std::vector<std::string> command = {kBert, "--steps",  "3", "--batch",
                                            "8",   "--length", "16"};
  const ProcessEnd alone = runProcess(command);
  EXPECT_EQ(alone.exitCode, 0) << alone.output;
  EXPECT_THAT(alone.output, HasSubstr("step 2 loss "));
  EXPECT_THAT(alone.output, Not(HasSubstr("not tied")));
  const auto ends = runProcesses(4, command);
  for (const ProcessEnd& end : ends) EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_EQ(withoutSpeeds(ends[3].output), withoutSpeeds(alone.output));
}

TEST(BertProgram, APlanWithoutAFlushSaysThatHeadAndEmbeddingAreTwo) {
  const std::vector<std::string> command = {kBert,      "--steps", "1",          "--batch",  "8",
                                            "--length", "16",      "--schedule", "PipeDream"};
  const ProcessEnd end = runProcess(command);
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(end.output,
              HasSubstr("note: the plan PipeDream has no flush, in which tied parameters change "
                        "together: words.weight of block embeddings and decoder.weight of block "
                        "head are not tied"));
  const auto ends = runProcesses(4, command);
  int notes = 0;
  for (const ProcessEnd& one : ends) {
    EXPECT_EQ(one.exitCode, 0) << one.output;
    notes += one.output.find("not tied") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(notes, 1);
  const ProcessEnd untied = runProcess({kBert, "--steps", "1", "--batch", "8", "--length", "16",
                                        "--schedule", "PipeDream", "--untied"});
  EXPECT_THAT(untied.output, Not(HasSubstr("not tied")));
  EXPECT_EQ(withoutSpeeds(end.output).substr(withoutSpeeds(end.output).find("step 0")),
            withoutSpeeds(untied.output));
}

TEST(BertProgram, AnUnknownConfigurationIsRefused) {
  const ProcessEnd end = runProcess({kBert, "--bert-config", "bert-huge"});
  EXPECT_EQ(end.exitCode, 2);
  EXPECT_THAT(end.output, HasSubstr("cannot read bert-huge"));
}

TEST(BertProgram, FilesOfAConfigurationThatCannotBeReadAreNamedWithTheirKey) {
  const ScratchFolder folder;
  const std::string path = folder.path("run.yml");
  std::ofstream(folder.path("latin1")) << std::string(2000, 'x') << '\xe9';
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"module: large", "module: cannot read large: No such file or directory; configurations"},
      {"vocabulary: none", "vocabulary: cannot read " + folder.path("none") + ": No such file"},
      {"data_dir: none", "data_dir: cannot read " + folder.path("none") + ": No such file"},
      {"data_dir: latin1", "data_dir: " + folder.path("latin1") +
                               " is no text in UTF-8: it has the byte 0xe9 at offset "
                               "2000; "},
      {"length: 9999", "length: rows of 9999 pieces are longer than"}};
  for (const auto& [line, message] : cases) {
    std::ofstream(path) << "steps: 1\n" << line << "\n";
    const ProcessEnd end = runProcess({kBert, "--config", path, "--dry-run"});
    EXPECT_EQ(end.exitCode, 2) << line;
    EXPECT_THAT(end.output, ::testing::StartsWith("error: " + path + ":2: " + message)) << line;
  }
}

// The walkthrough's four stages of 24 layers, VPipe's weights and its recomputation, at width 64.
TEST(BertProgram, TheWalkthroughsConfigurationTrains) {
  const ScratchFolder folder;
  const auto ends = runProcesses(4,
                                 {kBert,
                                  "--bert-config",
                                  kBertFolder + "bert_24x64.json",
                                  "--partition",
                                  kBertFolder + "vpipe.json",
                                  "--schedule",
                                  "PipeDream",
                                  "--stash-update",
                                  "oldest",
                                  "--micro-batches",
                                  "32",
                                  "--batch",
                                  "512",
                                  "--steps",
                                  "3",
                                  "--learning-rate",
                                  "0.001",
                                  "--lr-warmup",
                                  "1",
                                  "--log-dir",
                                  folder.path("logs")},
                                 {.limit = std::chrono::seconds(150)});
  for (const ProcessEnd& end : ends) EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(ends[3].output, HasSubstr("step 2 loss "));
  EXPECT_THAT(test::fileText(folder.path("logs/workerlog.0")), HasSubstr("type = recompute"));
}

}  // namespace
}  // namespace pipetrace
