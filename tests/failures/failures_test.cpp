// A rank of a training that is stopped ends the run for all, and all name it.
// tools/fault_trials.py does that, and worse, to random trainings.
#include <gmock/gmock.h>
#include <signal.h>

#include <string>

#include "ingest/load_run.h"
#include "parser/reader_registry.h"
#include "runtime/testing/rank_processes.h"
#include "tests/failures/training_ranks.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr int kRanks = 4;
constexpr milliseconds kLongest{10'000};

void expectSurvivorsName(const testing::TrainingEnd& end, int culprit, const std::string& what) {
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == culprit) continue;
    const std::string& output = end.outputs[static_cast<std::size_t>(rank)];
    const std::size_t at = output.rfind("error: ");
    ASSERT_NE(at, std::string::npos) << "rank " << rank << ": " << output.substr(0, 2000);
    const std::string error = output.substr(at);
    EXPECT_THAT(error, HasSubstr("rank " + std::to_string(culprit) + " " + what));
    EXPECT_THAT(error, HasSubstr("; this rank, " + std::to_string(rank) + ", was "));
  }
  EXPECT_LT(end.after, kLongest);
}

/// Every rank's log, the killed one's too, has jobs up to then.
void expectReadableLogs(const std::string& folder) {
  Diagnostics diagnostics;
  const Timeline timeline =
      loadRun({.inputs = {folder}}, makeTraceReaders(), diagnostics).takeTimeline();
  std::set<int> ranks;
  for (const Track& track : timeline.tracks) {
    if (track.lane == kComputeLane && track.events.size() >= 16) ranks.insert(track.rank);
  }
  EXPECT_THAT(ranks, ::testing::ElementsAre(0, 1, 2, 3));
  for (const Diagnostic& one : diagnostics.list()) {
    EXPECT_NE(one.severity, Severity::kError) << toText(one);
  }
}

TEST(Failures, AStoppedRankEndsTheRunByTheStepTimeout) {
  const ScratchFolder folder;
  const testing::TrainingEnd end =
      testing::trainUntil({.rank = 2, .signal = SIGSTOP}, folder.path(), {"--step-timeout", "1.5"});
  expectSurvivorsName(end, 2, "has not been heard of for ");
  expectReadableLogs(folder.path());
}

TEST(Failures, AStoppedRankEndsTheRunByTheLimitOfSilence) {
  const ScratchFolder folder;
  const testing::TrainingEnd end =
      testing::trainUntil({.rank = 1, .signal = SIGSTOP}, folder.path(), {"--silence", "2"});
  expectSurvivorsName(end, 1, "has not been heard of for 2.");
  EXPECT_LT(end.after, milliseconds(7000)) << "the usual limit is 8 s";
}

TEST(Failures, ASignalToOneRankEndsTheRunForAllInAFewWords) {
  const ScratchFolder folder;
  const testing::TrainingEnd end =
      testing::trainUntil({.rank = 1, .signal = SIGTERM}, folder.path());
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string text = rank == 1 ? "stopped by SIGTERM" : "rank 1 was stopped by SIGTERM";
    EXPECT_THAT(end.outputs[static_cast<std::size_t>(rank)],
                ::testing::EndsWith("error: " + text + "\n"));
  }
  expectReadableLogs(folder.path());
}

TEST(Failures, ARankThatWasStartedOtherwiseIsNamedBeforeTheFirstStep) {
  const ScratchFolder folder;
  const auto ends = testing::runProcesses(
      3, {"/bin/sh", "-c",
          std::string("exec \"") + test::inBuild("bin/sample-gpipe-mlp") +
              "\" --stages 3 --steps $((RANK + 1)) --seed $((RANK == 1 ? 8 : 7))"});
  for (const testing::ProcessEnd& end : ends) {
    EXPECT_EQ(end.exitCode, 2);
    EXPECT_THAT(end.output, AllOf(HasSubstr("the ranks were not started alike: rank 1 has the seed "
                                            "8, where the others have 7; "),
                                  HasSubstr("; rank 1 has the number of steps 2; "),
                                  HasSubstr("; rank 2 has the number of steps 3, where the others "
                                            "have 1")));
  }
}

TEST(Failures, ARankThatDoesNotComeIsNamedAfterTheConnectTimeout) {
  const auto ends = testing::runProcesses(
      2, {"/bin/sh", "-c",
          std::string("[ $RANK = 1 ] || exec \"") + test::inBuild("bin/sample-gpipe-mlp") +
              "\" --stages 2 --steps 1 --connect-timeout 1.5"});
  EXPECT_EQ(ends[0].exitCode, 2);
  EXPECT_THAT(ends[0].output, HasSubstr("error: rank 1 did not come within 1.5"));
  EXPECT_LT(ends[0].after, kLongest) << "the usual limit is 120 s";
}

}  // namespace
}  // namespace pipetrace
