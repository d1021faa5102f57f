#include "runtime/inspect/inspection_file.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include "profiler/testing/resource_limit.h"
#include "runtime/testing/rank_processes.h"
#include "trace/error.h"
#include "trace/testing/file_text.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

StepInspection madeUpInspection() {
  return {
      .step = 20,
      .sent = {{.kind = JobKind::kSendForward,
                .stage = 0,
                .toStage = 1,
                .microBatch = 3,
                .shape = {4, 64, 128},
                .type = at::kBFloat16,
                .figures = TensorFigures{0.5, 1.25, -3, std::numeric_limits<double>::infinity()}},
               {.kind = JobKind::kSendBackward, .stage = 2, .toStage = 1, .shape = {0, 2}}},
      .gradients = {{.stage = 2, .parameter = "3.weight", .after = 0.125}}};
}

constexpr const char* kInspectionLines =
    R"({"step":20,"rank":1,"stage":0,"sent":"send_forward","to_stage":1,"micro_batch":3,"shape":[4,64,128],"type":"BFloat16","mean":0.5,"deviation":1.25,"least":-3.0,"greatest":"inf"}
{"step":20,"rank":1,"stage":2,"sent":"send_backward","to_stage":1,"micro_batch":0,"shape":[0,2],"type":"Float"}
{"step":20,"rank":1,"stage":2,"parameter":"3.weight","gradient_norm_before":null,"gradient_norm_after":0.125}
)";

TEST(InspectionFileTest, ALineHasATensorOrAGradient) {
  EXPECT_EQ(inspectionLines(madeUpInspection(), 1), kInspectionLines);
  StepInspection scaled = madeUpInspection();
  scaled.lossScale = 1024;
  EXPECT_THAT(inspectionLines(scaled, 0), HasSubstr("\"stage\":2,\"loss_scale\":1024.0,\"param"));
}

TEST(InspectionFileTest, StepsAreThereAsSoonAsTheyWereSeenInPlaceOfOlderOnes) {
  const testing::ScratchFolder folder;
  const std::string inner = folder.path("logs");
  for (const int times : {2, 1}) {
    InspectionFile file(inner, 1, 2);
    for (int i = 0; i < times; ++i) file.write(madeUpInspection());
    std::string expected;
    for (int i = 0; i < times; ++i) expected += kInspectionLines;
    EXPECT_EQ(test::fileText(inner + "/inspect_rank1.jsonl"), expected);
    EXPECT_EQ(file.failure(), "");
  }
}

TEST(InspectionFileTest, FilesOfRanksThatTheRunDoesNotHaveAreRemoved) {
  const testing::ScratchFolder folder;
  for (const char* const name :
       {"inspect_rank1.jsonl", "inspect_rank2.jsonl", "inspect_rank10.jsonl",
        "inspect_rank2.jsonl.old", "inspect_rank.jsonl", "workerlog.7"}) {
    std::ofstream(folder.path(name)) << "old";
  }
  const InspectionFile ofRank1(folder.path(), 1, 2);
  EXPECT_TRUE(std::filesystem::exists(folder.path("inspect_rank2.jsonl")));
  const InspectionFile ofRank0(folder.path(), 0, 2);
  for (const char* const name : {"inspect_rank2.jsonl", "inspect_rank10.jsonl"}) {
    EXPECT_FALSE(std::filesystem::exists(folder.path(name))) << name;
  }
  for (const char* const name : {"inspect_rank0.jsonl", "inspect_rank1.jsonl",
                                 "inspect_rank2.jsonl.old", "inspect_rank.jsonl", "workerlog.7"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path(name))) << name;
  }
}

TEST(InspectionFileTest, AFullDiskIsNamedWithTheStepFromWhichOnLinesAreMissing) {
  const testing::ScratchFolder folder;
  InspectionFile file(folder.path(), 0, 1);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  const FileSizeLimit full(0);
  file.write(madeUpInspection());
  std::signal(SIGXFSZ, before);
  EXPECT_THAT(file.failure(),
              HasSubstr("inspect_rank0.jsonl is incomplete from step 20 on: File too large"));
  file.write(madeUpInspection());
}

TEST(InspectionFileTest, ALinkInItsPlaceIsRefusedAndTheTargetStaysAsItIs) {
  const testing::ScratchFolder folder;
  std::ofstream(folder.path("target")) << "mine";
  std::filesystem::create_symlink("target", folder.path("inspect_rank0.jsonl"));
  try {
    InspectionFile(folder.path(), 0, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("inspect_rank0.jsonl: Too many levels of symbolic links; "
                                        "it is a symbolic link"));
  }
  EXPECT_EQ(std::filesystem::file_size(folder.path("target")), 4U);
}

TEST(InspectionFileTest, AFolderThatCannotBeMadeIsNamed) {
  try {
    InspectionFile("/dev/null/logs", 0, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot make the folder /dev/null/logs"));
  }
}

}  // namespace
}  // namespace pipetrace
