// Replicas that die while they add up their gradients, and replicas that do not fit each other.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "runtime/testing/rank_processes.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProcessEnd;
using testing::ScratchFolder;

// GPipe runs the newest backward first. Each visits the four blocks of the model: the fault comes
// in the last one, 0B0. Ranks 1 and 2 wait for the gradients of rank 0 then.
TEST(ReplicaFailures, AReplicaThatIsKilledInTheReductionIsNamedByTheOthers) {
  const ScratchFolder folder;
  const std::string mark = folder.path("mark");
  testing::ProcessOptions options;
  options.environment = {{"PIPETRACE_FAULT", "sleep-backward 0 3 2 4"},
                         {"PIPETRACE_FAULT_MARK", mark}};
  options.whenStarted = [&](const std::vector<int>& pids) {
    for (int looks = 0; looks < 1500 && !std::filesystem::exists(mark); ++looks) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    kill(pids[1], SIGKILL);
  };
  const auto ends = testing::runProcesses(3,
                                          {test::inBuild("bin/faulty_training"), "--stages", "1",
                                           "--dp", "3", "--micro-batches", "2", "--steps", "50"},
                                          options);
  EXPECT_EQ(ends[1].exitCode, 128 + SIGKILL);
  for (const int rank : {0, 2}) {
    const ProcessEnd& end = ends[static_cast<std::size_t>(rank)];
    EXPECT_EQ(end.exitCode, 2) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr("error: rank 1 died, last seen after 0B0 of step 3 ("),
                                  HasSubstr("), waiting for the sums of stage 0's gradients from "
                                            "rank 0; this rank, ")));
    EXPECT_THAT(end.output, HasSubstr("; this rank, " + std::to_string(rank) + ", was "));
  }
}

/// Starts the replicas of a transformer of one stage, of which replica 1 has options of its own.
std::vector<ProcessEnd> startReplicas(const std::string& usual, const std::string& ofOne) {
  return testing::runProcesses(3, {"/bin/sh", "-c",
                                   "[ $RANK = 1 ] && o='" + ofOne + "' || o='" + usual +
                                       "'; exec '" + test::inBuild("bin/sample-char-transformer") +
                                       "' --batch 8 --micro-batches 2 --stages 1 --dp 3 "
                                       "--steps 1 $o"});
}

TEST(ReplicaFailures, AReplicaOfAnotherPlanIsNamedBeforeAnythingRuns) {
  for (const ProcessEnd& end : startReplicas("--schedule 1F1B", "--schedule GPipe")) {
    EXPECT_EQ(end.exitCode, 2);
    EXPECT_THAT(end.output, AllOf(HasSubstr("the ranks were not started alike: rank 1 has the plan "
                                            "GPipe of 3 ranks and 6 micro-batches"),
                                  HasSubstr("where the others have 1F1B of 3 ranks")));
  }
}

TEST(ReplicaFailures, AReplicaWhoseParametersHaveOtherShapesIsNamedBeforeAnythingRuns) {
  for (const ProcessEnd& end : startReplicas("--width 32", "--width 64")) {
    EXPECT_EQ(end.exitCode, 2);
    EXPECT_THAT(end.output, HasSubstr("the ranks were not started alike: rank 1 has the model of "
                                      "vocabulary 76, context 64, width 64, "));
  }
}

}  // namespace
}  // namespace pipetrace
