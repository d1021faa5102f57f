// The programs refuse options that do not fit, and say why.
#include <gmock/gmock.h>

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/testing/rank_processes.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using testing::ProcessEnd;
using testing::runProcess;

const std::string kMlpProgram = PIPETRACE_BINARY_DIR "/bin/sample-gpipe-mlp";
const std::string kTransformerProgram = PIPETRACE_BINARY_DIR "/bin/sample-char-transformer";

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
       {kMlpProgram, "--device", "cuda"},
       {{"CUDA_VISIBLE_DEVICES", ""}},
       "cannot train on CUDA devices: "},
      {"UnknownDevice", {kMlpProgram, "--device", "tpu"}, {}, "tpu not in {cpu,cuda}"},
      {"NoText",
       {kTransformerProgram, "--data", "/nonexistent"},
       {},
       "cannot read /nonexistent: No such"},
      {"EmptyText", {kTransformerProgram, "--data", "/dev/null"}, {}, "/dev/null has 0 characters"},
      {"NoRank", {kMlpProgram, "--transport", "gloo"}, {}, "WORLD_SIZE is not set"},
      {"NcclOnTheCpu", {kMlpProgram, "--transport", "nccl"}, {}, "nccl needs --device cuda"},
      {"CommunicatorsOfNothing",
       {kMlpProgram, "--nccl-communicators", "lane"},
       {},
       "--nccl-communicators is for --transport nccl"},
      {"ManyWholePipelines",
       {kMlpProgram, "--transport", "in-process"},
       threeRanks,
       "WORLD_SIZE is 3, so a launcher has started this program several times"},
      {"RateIsNoNumber",
       {kTransformerProgram, "--learning-rate", "nan"},
       {},
       "nan is no positive number"},
      {"RateIsNegative", {kTransformerProgram, "--learning-rate", "-1"}, {}, "no positive number"},
      {"TooWide", {kTransformerProgram, "--width", "1000000000"}, {}, "1000000000 not in range"},
      {"UnknownPrecision", {kMlpProgram, "--precision", "fp8"}, {}, "fp8 not in {fp32,bf16,fp16}"},
      {"ScaleOfNothing",
       {kMlpProgram, "--loss-scale", "8"},
       {},
       "--loss-scale is for --precision fp16"},
      {"ScaleIsNoNumber",
       {kMlpProgram, "--precision", "fp16", "--loss-scale", "8x"},
       {},
       "--loss-scale 8x: give a number, such as 1024, or dynamic"},
      {"ScaleIsZero",
       {kMlpProgram, "--precision", "fp16", "--loss-scale", "0"},
       {},
       "a loss scale is a positive number, not 0"},
      {"DynamicScaleOfSeveralRanks",
       {kMlpProgram, "--precision", "fp16", "--loss-scale", "dynamic"},
       {},
       "the plan GPipe has 4 ranks, so give a number"},
      {"UnknownRateSchedule", {kMlpProgram, "--lr-schedule", "step"}, {}, "step not in {constant,"},
      {"FinalRateAboveTheTop", {kMlpProgram, "--lr-final", "1.5"}, {}, "1.5 not in range"},
      {"NoPatternOfNames",
       {kMlpProgram, "--no-decay", "a(b"},
       {},
       "--no-decay a(b: missing ): a(b"},
      {"WrongWorldSize", {kMlpProgram}, threeRanks, "WORLD_SIZE is 3, but the plan GPipe is for 4"},
      {"StashUpdate",
       {kMlpProgram, "--stash-update", "newestt"},
       {},
       "newestt not in {newest,oldest}"},
      {"NothingStashed", {kMlpProgram, "--stash-update", "oldest"}, {}, "GPipe has one version"},
      {"NoPartition",
       {kMlpProgram, "--partition", "/nowhere/p.json"},
       {},
       "cannot read the partition"},
      {"TooManyStages", {kMlpProgram, "--stages", "5"}, {}, "4 blocks cannot be cut into 5 stages"},
      {"TooManyMicroBatches",
       {kMlpProgram, "--micro-batches", "17"},
       {},
       "16 rows cannot be split into 17"},
      {"UnknownSchedule", {kMlpProgram, "--schedule", "1F2B"}, {}, "1F2B"},
      {"NoPlanFile",
       {kMlpProgram, "--schedule-file", "/nonexistent"},
       {},
       "cannot read the schedule file /nonexistent"},
      {"WrongWidth", {kTransformerProgram, "--width", "30"}, {}, "multiple of the heads"},
      {"NoLogFolder", {kMlpProgram, "--log-dir", "/dev/null/x"}, {}, "/dev/null/x"},
      {"UnknownOption", {kMlpProgram, "--batches"}, {}, "--batches"},
      {"TwoPlans", {kMlpProgram, "--stages", "2", "--schedule-file", "x"}, {}, "--schedule-file"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, BadRunTest, ::testing::ValuesIn(badRuns()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pipetrace
