// Samples that train several replicas of their pipeline.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "runtime/testing/rank_processes.h"
#include "samples/testing/without_speeds.h"
#include "trace/testing/file_text.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProcessEnd;
using testing::runProcess;
using testing::runProcesses;
using testing::ScratchFolder;

const std::string kMlpProgram = PIPETRACE_BINARY_DIR "/bin/sample-gpipe-mlp";

std::vector<std::string> smallTransformer(std::vector<std::string> more) {
  std::vector<std::string> command{PIPETRACE_BINARY_DIR "/bin/sample-char-transformer", "--width",
                                   "32", "--batch", "16"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

TEST(SampleProgramTest, ReplicasPrintTheLossesOfTheirThreads) {
  const auto command = smallTransformer({"--steps", "3", "--stages", "2", "--dp", "2"});
  const ProcessEnd threads = runProcess(command);
  EXPECT_EQ(threads.exitCode, 0) << threads.output;
  const auto ends = runProcesses(4, command);
  for (const ProcessEnd& end : ends) EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_EQ(testing::withoutSpeeds(ends[1].output), testing::withoutSpeeds(threads.output));
  EXPECT_THAT(threads.output, HasSubstr("step 2 loss "));
  // Each replica has data of its own.
  const ProcessEnd alone = runProcess(smallTransformer({"--steps", "3", "--stages", "2"}));
  EXPECT_NE(testing::withoutSpeeds(alone.output), testing::withoutSpeeds(threads.output));
}

TEST(SampleProgramTest, PipeDreamOnSeveralRanksPrintsTheLossesOfItsThreads) {
  const std::vector<std::string> command{kMlpProgram,  "--steps",        "3",
                                         "--schedule", "PipeDream",      "--stage-ranks",
                                         "0,1/2",      "--stage-depths", "2,1"};
  const ProcessEnd threads = runProcess(command);
  EXPECT_EQ(threads.exitCode, 0) << threads.output;
  EXPECT_THAT(threads.output, HasSubstr("step 2 loss "));
  auto blocking = command;
  blocking.emplace_back("--no-send-recv-overlap");
  for (const auto& each : {command, blocking}) {
    const auto ends = runProcesses(3, each);
    for (const ProcessEnd& end : ends) EXPECT_EQ(end.exitCode, 0) << end.output;
    EXPECT_EQ(testing::withoutSpeeds(ends[2].output), testing::withoutSpeeds(threads.output));
  }
}

TEST(SampleProgramTest, LogsOfReplicasHaveTheirNumbersAndReductions) {
  const ScratchFolder folder;
  const ProcessEnd end = runProcess({kMlpProgram, "--steps", "2", "--stages", "2", "--dp", "2",
                                     "--transport", "in-process", "--log-dir", folder.path()});
  EXPECT_EQ(end.exitCode, 0) << end.output;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string log = test::fileText(folder.path("workerlog." + std::to_string(rank)));
    EXPECT_THAT(log, HasSubstr("data_parallel_index = " + std::to_string(rank / 2)));
    EXPECT_THAT(log, HasSubstr("type = all_reduce"));
    EXPECT_THAT(log, HasSubstr(rank % 2 == 0 ? "members = \"0 2\"" : "members = \"1 3\""));
    EXPECT_THAT(log, HasSubstr("micro_batch_id = 7"));
    EXPECT_THAT(log, Not(HasSubstr("micro_batch_id = 8")));
  }
}

}  // namespace
}  // namespace pipetrace
