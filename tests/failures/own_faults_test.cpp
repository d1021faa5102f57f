// Ranks that go wrong by themselves end in time, and what they say is what happened.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>

#include "runtime/testing/rank_processes.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProcessEnd;
using testing::ProcessOptions;
using testing::ScratchFolder;

constexpr int kStuckExitCode = 124;

std::vector<ProcessEnd> train(const std::string& fault, int ranks,
                              std::vector<std::string> arguments = {},
                              ProcessOptions options = {}) {
  options.environment["PIPETRACE_FAULT"] = fault;
  arguments.insert(arguments.begin(),
                   {test::inBuild("bin/faulty_training"), "--stages", std::to_string(ranks)});
  return testing::runProcesses(ranks, arguments, options);
}

TEST(OwnFaults, ARankWhoseBatchFunctionBlocksEndsSoonAfterAnotherRankDied) {
  // Rank 1 dies while it makes the batch of step 2. Rank 0 waits for it in that step, and makes the
  // batch of step 3 ahead.
  const auto ends = train("block-and-die 0 3", 2, {"--steps", "20"});
  EXPECT_EQ(ends[1].exitCode, 128 + SIGKILL);
  EXPECT_EQ(ends[0].exitCode, kStuckExitCode);
  EXPECT_THAT(ends[0].output, HasSubstr("error: rank 1 died"));
  EXPECT_THAT(ends[0].output, HasSubstr("this rank, 0, was in "));
  EXPECT_LT(ends[0].after - ends[1].after, seconds(10));
}

TEST(OwnFaults, ARankWithoutEnoughMemoryForAMessageIsNamedAndNotItsPeer) {
  const auto ends = train("limit-memory 1 3", 2, {"--steps", "20"});
  for (const ProcessEnd& end : ends) {
    EXPECT_EQ(end.exitCode, 2) << end.output;
    EXPECT_THAT(end.output, HasSubstr("error: rank 1 "));
    EXPECT_THAT(end.output, HasSubstr("memory"));
    EXPECT_THAT(end.output, Not(HasSubstr("is gone or does not answer")));
  }
}

TEST(OwnFaults, AClosedStderrChangesNoExitCode) {
  // A batch function that blocks ends with 124, also where the reason cannot be printed.
  const auto ends = testing::runProcesses(
      2,
      {"/bin/sh", "-c",
       std::string("exec 2>&-; exec \"") + test::inBuild("bin/faulty_training") +
           "\" --stages 2 --steps 100000000 --step-timeout 3"},
      {.environment = {{"PIPETRACE_FAULT", "block-batch 0 3"}}});
  EXPECT_EQ(ends[0].exitCode, kStuckExitCode);
  EXPECT_EQ(ends[1].exitCode, 2);
}

// Without standard streams the log would be opened under their numbers.
TEST(OwnFaults, ClosedOutputsEndNoTrainingAndNothingIsPrintedIntoItsLogs) {
  const ScratchFolder folder;
  const auto ends = testing::runProcesses(
      2, {"/bin/sh", "-c",
          std::string("exec <&- >&- 2>&-; exec \"") + test::inBuild("bin/faulty_training") +
              "\" --stages 2 --steps 5 --log-dir '" + folder.path() + "'"});
  for (const ProcessEnd& end : ends) EXPECT_EQ(end.exitCode, 0);
  for (const char* rank : {"0", "1"}) {
    const std::string log = test::fileText(folder.path(std::string("workerlog.") + rank));
    EXPECT_THAT(log, HasSubstr("type = backward"));
    EXPECT_THAT(log, Not(HasSubstr("step 0 loss")));
  }
}

/// A shell command for which `folder`, where logs go, is a disk of 300 KiB. Its own namespaces need
/// no root where the system allows them.
std::vector<std::string> onSmallDisk(const std::string& folder, const std::string& command) {
  return {"/usr/bin/unshare", "-rm", "/bin/sh", "-c",
          "mount -t tmpfs -o size=300k none " + folder + " && export PIPETRACE_LOG_DIR=" + folder +
              " && " + command};
}

std::string recordedTraining(const std::string& options) {
  return std::string("\"") + test::inBuild("bin/faulty_training") +
         "\" --stages 2 --steps 400 --visualize-pipeline " + options;
}

/// The number after the last `text`; -1: it is not there.
int numberAfterLast(const std::string& text, const std::string& output) {
  const std::size_t at = output.rfind(text);
  return at == std::string::npos ? -1 : std::atoi(output.c_str() + at + text.size());
}

TEST(OwnFaults, AFullDiskOfLogsEndsNoTrainingAndIsOneLineAtTheEnd) {
  const ScratchFolder folder;
  if (testing::runProcess(onSmallDisk(folder.path(), "true")).exitCode != 0) {
    GTEST_SKIP() << "the system allows no namespaces, so no small disk";
  }
  const ProcessEnd end = testing::runProcess(onSmallDisk(
      folder.path(), recordedTraining("--transport in-process") + " && grep -o 'step = [0-9]*' " +
                         folder.path("workerlog.0") + " | tail -n 1"));
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(end.output,
              HasSubstr("note: the job logs of ranks 0 and 1 are incomplete from step "));
  EXPECT_THAT(end.output, HasSubstr(" on: No space left on device\n"));
  EXPECT_THAT(end.output, Not(HasSubstr("error")));
  const int first = numberAfterLast("incomplete from step ", end.output);
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 400);
  EXPECT_GE(numberAfterLast("step = ", end.output) + 1, first) << "all jobs before it are there";
}

TEST(OwnFaults, AFullDiskOfLogsEndsNoRankOfSeveralProcesses) {
  const ScratchFolder folder;
  if (testing::runProcess(onSmallDisk(folder.path(), "true")).exitCode != 0) {
    GTEST_SKIP() << "the system allows no namespaces, so no small disk";
  }
  const auto ends =
      testing::runProcesses(2, onSmallDisk(folder.path(), "exec " + recordedTraining("")));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ends[rank].exitCode, 0) << ends[rank].output;
    EXPECT_THAT(ends[rank].output, HasSubstr("note: the job log of rank " + std::to_string(rank) +
                                             " is incomplete from step "));
    EXPECT_THAT(ends[rank].output, Not(HasSubstr("error")));
  }
}

}  // namespace
}  // namespace pipetrace
