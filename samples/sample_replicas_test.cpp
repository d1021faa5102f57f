// Samples that train several replicas of their pipeline.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "runtime/testing/rank_processes.h"
#include "samples/testing/without_speeds.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProcessEnd;
using testing::runProcess;
using testing::runProcesses;
using testing::ScratchFolder;

const std::string kMlpProgram = test::inBuild("bin/sample-gpipe-mlp");

std::vector<std::string> smallTransformer(std::vector<std::string> more) {
  std::vector<std::string> command{test::inBuild("bin/sample-char-transformer"), "--width", "32",
                                   "--batch", "16"};
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
  auto inBuckets = command;
  inBuckets.insert(inBuckets.end(), {"--buckets", "3"});
  EXPECT_EQ(testing::withoutSpeeds(runProcess(inBuckets).output),
            testing::withoutSpeeds(threads.output));
  auto inParts = command;
  inParts.insert(inParts.end(), {"--last-backward-parts", "2"});
  EXPECT_EQ(testing::withoutSpeeds(runProcess(inParts).output),
            testing::withoutSpeeds(threads.output));
  // Each replica has data of its own.
  const ProcessEnd alone = runProcess(smallTransformer({"--steps", "3", "--stages", "2"}));
  EXPECT_NE(testing::withoutSpeeds(alone.output), testing::withoutSpeeds(threads.output));
}

TEST(SampleProgramTest, PipeDreamOnSeveralRanksPrintsTheLossesOfItsThreads) {
  const auto expectAlike = [](int ranks, const std::vector<std::string>& more) {
    std::vector<std::string> command{kMlpProgram, "--steps", "3", "--schedule", "PipeDream"};
    command.insert(command.end(), more.begin(), more.end());
    const ProcessEnd threads = runProcess(command);
    EXPECT_EQ(threads.exitCode, 0) << threads.output;
    EXPECT_THAT(threads.output, HasSubstr("step 2 loss "));
    const auto ends = runProcesses(ranks, command);
    for (const ProcessEnd& end : ends) EXPECT_EQ(end.exitCode, 0) << end.output;
    std::string all;
    for (const ProcessEnd& end : ends) all += end.output;
    EXPECT_EQ(testing::withoutSpeeds(all), testing::withoutSpeeds(threads.output));
  };
  expectAlike(3, {"--stage-ranks", "0,1/2", "--stage-depths", "2,1"});
  expectAlike(2, {"--stage-ranks", "0,1", "--no-send-recv-overlap"});
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

// Each host has one rank of the only stage. They add up their gradients over the made-up network.
TEST(SampleProgramTest, AStageOnRanksOfTwoHostsTrainsAsItDoesInOneProcess) {
  const std::string hosts = test::inSources("tools/hosts.py");
  const ProcessEnd possible = runProcess({"/usr/bin/env", "python3", hosts, "1", "--", "true"});
  if (possible.exitCode != 0) GTEST_SKIP() << "no hosts can be made here: " << possible.output;
  const ScratchFolder folder;
  const auto command = smallTransformer({"--steps", "3", "--stages", "1", "--dp", "2"});
  std::string line;
  for (const std::string& word : command) line += "'" + word + "' ";
  const std::string script =
      "for r in 0 1; do python3 '" + hosts +
      "' run h$r -- env RANK=$r LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 "
      "MASTER_ADDR=10.9.0.1 MASTER_PORT=29571 " +
      line + "--log-dir '" + folder.path() + "' >'" + folder.path("out") +
      "'$r & ranks=\"$ranks $!\"; done; for p in $ranks; do wait $p || exit 1; done";
  const ProcessEnd end =
      runProcess({"/usr/bin/env", "python3", hosts, "2", "--", "/bin/sh", "-c", script});
  EXPECT_EQ(end.exitCode, 0) << end.output;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string log = test::fileText(folder.path("workerlog." + std::to_string(rank)));
    EXPECT_THAT(log, HasSubstr("host = h" + std::to_string(rank)));
    EXPECT_THAT(log, HasSubstr("type = all_reduce"));
  }
  EXPECT_EQ(testing::withoutSpeeds(test::fileText(folder.path("out0"))),
            testing::withoutSpeeds(runProcess(command).output));
}

}  // namespace
}  // namespace pipetrace
