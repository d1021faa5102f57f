// The programs refuse options that do not fit, and say why.
#include <gmock/gmock.h>

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/testing/rank_processes.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using testing::ProcessEnd;
using testing::runProcess;

const std::string kPerceptron = test::inBuild("bin/sample-gpipe-mlp");
const std::string kCharacters = test::inBuild("bin/sample-char-transformer");

struct BadRun {
  const char* name;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  const char* message;

  friend void PrintTo(const BadRun& run, std::ostream* out) { *out << run.name; }
};

class BadRunTest : public ::testing::TestWithParam<BadRun> {};

TEST_P(BadRunTest, EndsWithCodeTwoAndSaysWhy) {
  const ProcessEnd end = runProcess(GetParam().command, {.environment = GetParam().environment});
  EXPECT_EQ(end.exitCode, 2);
  EXPECT_THAT(end.output, HasSubstr(GetParam().message));
}

std::vector<BadRun> badRuns() {
  const std::map<std::string, std::string> threeRanks{{"RANK", "0"},
                                                      {"LOCAL_RANK", "0"},
                                                      {"WORLD_SIZE", "3"},
                                                      {"MASTER_ADDR", "127.0.0.1"},
                                                      {"MASTER_PORT", "29511"}};
  return {
      {"NoCudaLibraryOrDevice",
       {kPerceptron, "--device", "cuda"},
       {{"CUDA_VISIBLE_DEVICES", ""}},
       "cannot train on CUDA devices: "},
      {"UnknownDevice", {kPerceptron, "--device", "tpu"}, {}, "tpu not in {cpu,cuda}"},
      {"NoText", {kCharacters, "--data", "/nonexistent"}, {}, "cannot read /nonexistent: No such"},
      {"EmptyText", {kCharacters, "--data", "/dev/null"}, {}, "/dev/null has 0 characters"},
      {"NoRank", {kPerceptron, "--transport", "gloo"}, {}, "WORLD_SIZE is not set"},
      {"NcclOnTheCpu", {kPerceptron, "--transport", "nccl"}, {}, "nccl needs --device cuda"},
      {"CommunicatorsOfNothing",
       {kPerceptron, "--nccl-communicators", "lane"},
       {},
       "--nccl-communicators is for --transport nccl"},
      {"ManyWholePipelines",
       {kPerceptron, "--transport", "in-process"},
       threeRanks,
       "WORLD_SIZE is 3, so a launcher has started this program several times"},
      {"RateIsNoNumber", {kCharacters, "--learning-rate", "nan"}, {}, "nan is no positive number"},
      {"RateIsNegative", {kCharacters, "--learning-rate", "-1"}, {}, "no positive number"},
      {"TooWide", {kCharacters, "--width", "1000000000"}, {}, "1000000000 not in range"},
      {"UnknownPrecision", {kPerceptron, "--precision", "fp8"}, {}, "fp8 not in {fp32,bf16,fp16}"},
      {"ScaleOfNothing",
       {kPerceptron, "--loss-scale", "8"},
       {},
       "--loss-scale is for --precision fp16"},
      {"ScaleIsNoNumber",
       {kPerceptron, "--precision", "fp16", "--loss-scale", "8x"},
       {},
       "--loss-scale 8x: give a number, such as 1024, or dynamic"},
      {"ScaleIsZero",
       {kPerceptron, "--precision", "fp16", "--loss-scale", "0"},
       {},
       "a loss scale is a positive number, not 0"},
      {"DynamicScaleWithoutAFlush",
       {kCharacters, "--schedule", "PipeDream", "--precision", "fp16", "--loss-scale", "dynamic"},
       {},
       "the plan PipeDream changes its weights within a step; give a number"},
      {"ClipsWithoutAFlush",
       {kCharacters, "--schedule", "PipeDream", "--clip-grad-norm", "1"},
       {},
       "--clip-grad-norm: the plan PipeDream changes the weights of each stage by themselves"},
      {"ClipsToNothing", {kCharacters, "--clip-grad-norm", "0"}, {}, "0 is no positive number"},
      {"OverflowsInEveryStep",
       {kPerceptron, "--precision", "fp16", "--loss-scale", "1e8", "--steps", "30"},
       {},
       "step 19: gradients were no finite numbers in 20 steps in a row with the loss scale 1e+08"},
      {"UnknownRateSchedule", {kPerceptron, "--lr-schedule", "step"}, {}, "step not in {constant,"},
      {"FinalRateAboveTheTop", {kPerceptron, "--lr-final", "1.5"}, {}, "1.5 not in range"},
      {"NoPatternOfNames",
       {kPerceptron, "--no-decay", "a(b"},
       {},
       "--no-decay a(b: missing ): a(b"},
      {"PatternOfNoName",
       {kPerceptron, "--no-decay", "^0", "--no-decay", "nrom"},
       {},
       "--no-decay nrom: no parameter has such a name; there are 0.0.weight, 0.0.bias, "},
      {"DevicesOfNobodyToShare",
       {kPerceptron, "--share-devices"},
       {},
       "--share-devices is for --device cuda"},
      {"WrongWorldSize", {kPerceptron}, threeRanks, "WORLD_SIZE is 3, but the plan GPipe is for 4"},
      {"WrongWorldSizeOfReplicas",
       {kPerceptron, "--stages", "2", "--dp", "2"},
       threeRanks,
       "WORLD_SIZE is 3, but the plan GPipe is for 4"},
      {"AMapThatLeavesOutARank",
       {kCharacters, "--stage-ranks", "0,1/3"},
       {},
       "stage 1 is on rank 3, and the map has 3 ranks; it leaves out rank 2"},
      {"MoreRanksThanMicroBatches",
       {kCharacters, "--stage-ranks", "0,1,2/3", "--micro-batches", "2"},
       {},
       "stage 0 has 3 ranks and the plan only 2 micro-batches"},
      {"InspectingNever", {kPerceptron, "--inspect-every", "-1"}, {}, "-1 not in range"},
      {"StashUpdate",
       {kPerceptron, "--stash-update", "newestt"},
       {},
       "newestt not in {newest,oldest}"},
      {"NothingStashed", {kPerceptron, "--stash-update", "oldest"}, {}, "GPipe has one version"},
      {"NoPartition",
       {kPerceptron, "--partition", "/nowhere/p.json"},
       {},
       "cannot read the partition"},
      {"TooManyStages", {kPerceptron, "--stages", "5"}, {}, "4 blocks cannot be cut into 5 stages"},
      {"TooManyMicroBatches",
       {kPerceptron, "--micro-batches", "17"},
       {},
       "error: a batch of 16 rows cannot be split into 17 micro-batches\n"},
      {"UnknownSchedule", {kPerceptron, "--schedule", "1F2B"}, {}, "1F2B"},
      {"NoPlanFile",
       {kPerceptron, "--schedule-file", "/nonexistent"},
       {},
       "cannot read the schedule file /nonexistent"},
      {"WrongWidth", {kCharacters, "--width", "30"}, {}, "multiple of the heads"},
      {"NoLogFolder", {kPerceptron, "--log-dir", "/dev/null/x"}, {}, "/dev/null/x"},
      {"UnknownOption", {kPerceptron, "--batches"}, {}, "--batches"},
      {"TwoPlans", {kPerceptron, "--stages", "2", "--schedule-file", "x"}, {}, "--schedule-file"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, BadRunTest, ::testing::ValuesIn(badRuns()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pipetrace
