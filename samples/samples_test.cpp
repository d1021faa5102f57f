#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <torch/nn/functional/loss.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <thread>

#include "runtime/testing/rank_processes.h"
#include "samples/char_transformer/char_model.h"
#include "samples/char_transformer/char_task.h"
#include "samples/char_transformer/char_text.h"
#include "samples/gpipe_mlp/mlp_task.h"
#include "samples/run_sample.h"
#include "samples/sample_task.h"
#include "samples/testing/without_speeds.h"
#include "trace/error.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using testing::ProcessEnd;
using testing::runProcess;
using testing::runProcesses;
using testing::ScratchFolder;
using testing::withoutSpeeds;

const std::string kMlp = test::inBuild("bin/sample-gpipe-mlp");
const std::string kTransformer = test::inBuild("bin/sample-char-transformer");

double mean(std::vector<double>::const_iterator from, std::vector<double>::const_iterator to) {
  return std::accumulate(from, to, 0.0) / static_cast<double>(to - from);
}

using Blocks = std::vector<std::shared_ptr<BlockModule>>;

Blocks blocksOf(const Model& model, std::uint64_t seed) {
  Blocks blocks;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    blocks.push_back(makeBlock(model, static_cast<int>(i), seed));
  }
  return blocks;
}

NamedParameters namedParametersOf(const Blocks& blocks) {
  NamedParameters all;
  for (const auto& block : blocks) {
    for (const auto& p : block->named_parameters()) all.emplace_back(p.key(), p.value());
  }
  return all;
}

at::Tensor run(const Blocks& blocks, const at::Tensor& input) {
  Tensors x{input};
  for (const auto& block : blocks) x = block->run(x);
  return x[0];
}

// The exercise written out: 8 forwards, 8 backwards newest first, one step of SGD.
double trainMlpAlone(const SampleTask& task, const Blocks& blocks,
                     torch::optim::Optimizer& optimizer) {
  optimizer.zero_grad();
  const Batch batch = task.batch(0, 0);
  const auto inputs = batch.at("inputs").split(2);
  const auto targets = batch.at("targets").split(2);
  std::vector<at::Tensor> losses;
  for (std::size_t mb = 0; mb < 8; ++mb) {
    const at::Tensor output = run(blocks, inputs[mb]);
    losses.push_back(torch::nn::functional::cross_entropy(output, targets[mb]) * 0.125);
  }
  double sum = 0;
  for (const at::Tensor& loss : losses) sum += loss.item<double>();
  for (std::size_t mb = 8; mb-- > 0;) losses[mb].backward();
  optimizer.step();
  return sum;
}

TEST(GpipeMlpTest, PipelineTrainsLikeTheExerciseWrittenOut) {
  constexpr int kSteps = 20;
  StopSignal stop;
  const SampleOptions options{.plan = {.schedule = "GPipe"}, .steps = kSteps, .seed = 7};
  const auto losses = runSample(options, makeMlpTask, stop);

  torch::manual_seed(7);
  const SampleTask alone = makeMlpTask();
  const Blocks blocks = blocksOf(alone.model, 7);
  const auto optimizer = alone.optimizer(namedParametersOf(blocks));
  for (int step = 0; step < kSteps; ++step) {
    EXPECT_EQ(losses.at(static_cast<std::size_t>(step)), trainMlpAlone(alone, blocks, *optimizer));
  }
  EXPECT_LT(losses.back(), losses.front());
}

TEST(GpipeMlpTest, TheModelIsThatOfTheExercise) {
  const Blocks blocks = blocksOf(makeMlpTask().model, 1);
  const auto parameters = tensorsOf(namedParametersOf(blocks));
  const std::int64_t widths[] = {10, 20, 30, 20, 5};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(parameters[2 * i].sizes(), (std::vector<std::int64_t>{widths[i + 1], widths[i]}));
  }
  EXPECT_EQ(blocks[2]->children().size(), 2U);
  EXPECT_EQ(blocks[3]->children().size(), 1U);  // no ReLU after the last
}

TEST(CharTransformerTest, LossFallsToSevenTenths) {
  StopSignal stop;
  const SampleOptions options{.steps = 150};
  const auto losses = runSample(
      options, [] { return makeCharTask({}); }, stop);
  ASSERT_EQ(losses.size(), 150U);
  EXPECT_LE(mean(losses.end() - 10, losses.end()), 0.7 * mean(losses.begin(), losses.begin() + 10));
}

TEST(CharTransformerTest, NoCharacterSeesThoseAfterIt) {
  const Blocks blocks =
      blocksOf(makeCharModel({.vocabulary = 7, .context = 6, .width = 8, .heads = 2}), 1);
  const at::Tensor text = torch::tensor({{1, 2, 3, 4, 5, 6}});
  at::Tensor changed = text.clone();
  changed[0][3] = 0;
  const at::Tensor a = run(blocks, text);
  const at::Tensor b = run(blocks, changed);
  EXPECT_EQ(a.sizes(), (std::vector<std::int64_t>{1, 6, 7}));
  EXPECT_TRUE(a.slice(1, 0, 3).allclose(b.slice(1, 0, 3)));
  EXPECT_FALSE(a.slice(1, 3, 4).allclose(b.slice(1, 3, 4)));
  EXPECT_FALSE(a.slice(1, 5, 6).allclose(b.slice(1, 5, 6)));
}

TEST(CharTextTest, TargetsAreTheCharactersAfterTheInputs) {
  const ScratchFolder folder;
  std::ofstream(folder.path("text")) << "abcabcabc";
  const CharText text(folder.path("text"));
  EXPECT_EQ(text.vocabulary(), 3);
  const Batch batch = text.windows(1, 0, 20, 4);
  EXPECT_EQ(batch.at("inputs").sizes(), (std::vector<std::int64_t>{20, 4}));
  EXPECT_TRUE(batch.at("targets").equal((batch.at("inputs") + 1) % 3));
  EXPECT_TRUE(batch.at("inputs").equal(text.windows(1, 0, 20, 4).at("inputs")));
  EXPECT_FALSE(batch.at("inputs").equal(text.windows(1, 1, 20, 4).at("inputs")));
  EXPECT_FALSE(batch.at("inputs").equal(text.windows(2, 0, 20, 4).at("inputs")));
}

TEST(CharTextTest, AMissingOrShortTextIsReported) {
  EXPECT_THROW(CharText("/nonexistent/text"), Error);
  EXPECT_THROW(CharText("/"), Error);
  const ScratchFolder folder;
  std::ofstream(folder.path("text")) << "abcd";
  const CharText text(folder.path("text"));
  EXPECT_NO_THROW(text.windows(1, 0, 1, 3));
  EXPECT_THROW(text.windows(1, 0, 1, 4), Error);
}

TEST(RunSampleTest, ALossThatIsNoNumberEndsTheTraining) {
  StopSignal stop;
  const auto makeTask = [] {
    SampleTask task = makeMlpTask();
    task.model.loss = [](const Tensors& inputs) { return (inputs[0] / 0 * 0).sum(); };
    return task;
  };
  try {
    runSample({.steps = 3}, makeTask, stop);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the loss of step 0 is no finite number"));
  }
}

// From here on: the programs themselves.

TEST(RunSampleTest, APartitionThatRecomputesGivesTheLossesOfTheEvenOne) {
  const ScratchFolder folder;
  std::ofstream(folder.path("partition.json"))
      << R"({"partition": [2, 1], "recompute_ratio": [0.5, 1]})";
  CharTaskOptions task;
  task.model.layers = 3;
  task.model.width = 16;
  const auto lossesWith = [&](const std::string& partition, const std::string& logs) {
    StopSignal stop;
    const SampleOptions options{
        .plan = {.ranks = 2}, .partitionFile = partition, .steps = 3, .logDir = logs};
    return runSample(
        options, [&] { return makeCharTask(task); }, stop);
  };
  EXPECT_EQ(lossesWith(folder.path("partition.json"), folder.path("logs")), lossesWith("", ""));
  const std::string log = test::fileText(folder.path("logs/workerlog.0"));
  EXPECT_THAT(log, HasSubstr("type = recompute"));
  EXPECT_THAT(log, HasSubstr("action = 0R3"));
}

TEST(SampleProgramTest, NoShareOfTheLossIsPrintedForATextWithNothingToLearn) {
  const ScratchFolder folder;
  std::ofstream(folder.path("text")) << std::string(500, 'a');
  const ProcessEnd end = runProcess({kTransformer, "--width", "8", "--batch", "8", "--steps", "2",
                                     "--data", folder.path("text")});
  EXPECT_EQ(end.exitCode, 0);
  EXPECT_THAT(end.output, HasSubstr("mean loss of the first step 0.0000, of the last step 0.0000"));
  EXPECT_THAT(end.output, ::testing::Not(HasSubstr("nan")));
}

std::vector<std::string> transformer(std::vector<std::string> more) {
  std::vector<std::string> command{kTransformer, "--width", "32", "--batch", "16"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

TEST(SampleProgramTest, FourProcessesPrintTheLossesThatOneProcessPrints) {
  for (const char* schedule : {"1F1B", "FThenB", "GPipe"}) {
    auto command = transformer({"--steps", "4", "--schedule", schedule});
    const ProcessEnd alone = runProcess(command);
    EXPECT_EQ(alone.exitCode, 0) << alone.output;
    EXPECT_THAT(alone.output, HasSubstr("step 3 loss "));
    if (schedule != std::string("FThenB")) command.emplace_back("--no-send-recv-overlap");
    const auto ends = runProcesses(4, command);
    for (const ProcessEnd& end : ends) EXPECT_EQ(end.exitCode, 0) << end.output;
    EXPECT_EQ(withoutSpeeds(ends[3].output), withoutSpeeds(alone.output));
    EXPECT_EQ(ends[0].output + ends[1].output + ends[2].output, "");
  }
}

TEST(SampleProgramTest, ARankWithAnotherModelIsNamedBeforeTheFirstStep) {
  const auto ends = runProcesses(
      2, {"/bin/sh", "-c",
          "exec \"" + kTransformer + "\" --stages 2 --steps 1 --width $((RANK == 1 ? 64 : 32))"});
  for (const ProcessEnd& end : ends) {
    EXPECT_EQ(end.exitCode, 2);
    EXPECT_THAT(end.output, HasSubstr("the ranks were not started alike"));
    EXPECT_THAT(end.output, HasSubstr("width 64"));
  }
}

TEST(SampleProgramTest, EveryRankLeavesAWholeLog) {
  const ScratchFolder folder;
  const auto ends = runProcesses(4, {kMlp, "--steps", "2"},
                                 {.environment = {{"PIPETRACE_LOG_DIR", folder.path()}}});
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(ends[static_cast<std::size_t>(rank)].exitCode, 0);
    const std::string log = test::fileText(folder.path("workerlog." + std::to_string(rank)));
    EXPECT_THAT(log, HasSubstr("schedule = GPipe"));
    EXPECT_THAT(log, HasSubstr("type = optimizer"));
    EXPECT_THAT(log, HasSubstr("Profiler End: "));
    const bool loads = rank == 0 || rank == 3;
    EXPECT_EQ(log.find("type = data") != std::string::npos, loads) << "rank " << rank;
    EXPECT_EQ(log.find("name = loss") != std::string::npos, rank == 3) << "rank " << rank;
  }
}

// Each rank has a host name of its own.
TEST(SampleProgramTest, SeveralHostsCompareTheirClocksAndStepsCanBeChosen) {
  const std::string apart = "unshare --map-root-user --uts";
  if (std::system((apart + " true 2> /dev/null").c_str()) != 0) {
    GTEST_SKIP() << "this system gives no host names of their own to processes";
  }
  const ScratchFolder folder;
  const std::string named = apart + " sh -c 'hostname host{rank}; exec \"$0\" --steps 3' \"$0\"";
  const auto ends = runProcesses(
      4, {"/bin/sh", "-c", "exec " + named, kMlp},
      {.environment = {{"PIPETRACE_LOG_DIR", folder.path()}, {"PIPETRACE_STEPS", "1:2"}}});
  for (int rank = 0; rank < 4; ++rank) {
    const std::string& output = ends[static_cast<std::size_t>(rank)].output;
    EXPECT_EQ(ends[static_cast<std::size_t>(rank)].exitCode, 0) << output;
    const std::string log = test::fileText(folder.path("workerlog." + std::to_string(rank)));
    EXPECT_EQ(log.find("Profiler Clock: ") != std::string::npos, rank > 0) << log << output;
    EXPECT_THAT(log, HasSubstr("step = 1"));
    EXPECT_THAT(log, ::testing::Not(::testing::ContainsRegex("step = ([02-9]|1[0-9])")));
    EXPECT_THAT(log, HasSubstr("name = cpu_memory_allocated, "));
  }
}

TEST(SampleProgramTest, SwitchesOverrideTheFolderAndTheFlagOverridesSwitches) {
  struct Case {
    const char* flag;
    const char* value;
    bool records;
  };
  for (const Case& each : {Case{"--steps=1", "0", false}, Case{"--visualize_pipline", "0", true},
                           Case{"--visualize-pipeline", "", true}, Case{"--steps=1", "1", true}}) {
    const ScratchFolder folder;
    const ProcessEnd end = runProcess({kMlp, each.flag, "--log-dir", folder.path("logs")},
                                      {.environment = {{"PIPETRACE", each.value}}});
    EXPECT_EQ(end.exitCode, 0) << end.output;
    EXPECT_EQ(!test::fileText(folder.path("logs/workerlog.0")).empty(), each.records)
        << each.flag << " " << each.value;
  }
}

TEST(SampleProgramTest, APlanFromAFileIsRun) {
  const ScratchFolder folder;
  // Two ranks with two stages each, as a V.
  std::ofstream(folder.path("plan.csv")) << "0F0,0F1,3F0,3B0,3F1,3B1,0B0,0B1\n"
                                            "1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1\n";
  const ProcessEnd end =
      runProcess({kMlp, "--steps", "2", "--schedule-file", folder.path("plan.csv")});
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("step 1 loss "));
}

TEST(SampleProgramTest, ASignalClosesTheLogs) {
  for (const bool processes : {true, false}) {
    const ScratchFolder folder;
    const std::string lastLog = folder.path("workerlog.3");
    const testing::ProcessOptions options{
        .environment = {{"PIPETRACE_LOG_DIR", folder.path()}},
        .whenStarted = [&](const std::vector<int>& pids) {
          for (int i = 0; i < 1500 && test::fileText(lastLog).find("step = 2") == std::string::npos;
               ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
          for (const int pid : pids) kill(pid, SIGTERM);
        }};
    const auto command = transformer({"--steps", "1000000"});
    const auto ends =
        processes ? runProcesses(4, command, options) : std::vector{runProcess(command, options)};
    // The first to stop may take the connection away from the others before their signal comes.
    bool stopped = false;
    for (const ProcessEnd& end : ends) {
      EXPECT_TRUE(end.exitCode == 128 + SIGTERM || end.exitCode == 2) << end.exitCode;
      stopped = stopped || end.exitCode == 128 + SIGTERM;
      EXPECT_THAT(end.output, HasSubstr("error: "));
    }
    EXPECT_TRUE(stopped);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_THAT(test::fileText(folder.path("workerlog." + std::to_string(rank))),
                  HasSubstr("Profiler End: "));
    }
  }
}

}  // namespace
}  // namespace pipetrace
