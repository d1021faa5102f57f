// Ranks of different hosts, which are processes with folders of their own here.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/engine/testing/resumed_case.h"
#include "runtime/engine/testing/two_processes.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

using testing::CaseModel;
using testing::endWithTwoProcesses;
using testing::engineOfCase;
using testing::lastOf;
using testing::lossesUnder;
using testing::ResumedCase;
using testing::rowsOfCase;

const ResumedCase kTwoHosts;

/// The folder of the test, in which each rank has one of its own. The same in the process of the
/// death test.
std::string folderOf(const std::string& test) {
  return ::testing::TempDir() + "/pipetrace_hosts_" + test;
}

void enterFolder(const std::string& test, int rank) {
  const std::string own = folderOf(test) + "/host " + std::to_string(rank);
  fs::create_directories(own);
  fs::current_path(own);
}

/// Returns 0 for an Error that says what `folder` needs before a step is run.
int isRefused(int rank, int port, const CheckpointOptions& checkpoints) {
  enterFolder("apart", rank);
  Engine engine = engineOfCase(kTwoHosts, {.plan = {.ranks = 2}}, checkpoints,
                               {.env = testing::envOfRank(rank, 2, port)});
  int steps = 0;
  const FitCallback counts{.everySteps = 1, .call = [&](const StepReport&) {
                             ++steps;
                             return true;
                           }};
  const std::string error = testing::errorOf(
      [&] { engine.fit(rowsOfCase(kTwoHosts), {.stepsPerEpoch = 2, .callbacks = {counts}}); });
  std::fprintf(stderr, "%s\n", error.c_str());
  const bool namesOption = error.find("--checkpoint-gather") != std::string::npos;
  return namesOption && steps == 0 ? 0 : 1;
}

std::string lossesFile(int rank) {
  return folderOf("gathered") + "/losses_" + std::to_string(rank);
}

/// Trains four steps, or goes on from the newest ones and writes the losses.
int trainGathered(int rank, int port, bool resumes) {
  enterFolder("gathered", rank);
  Engine engine =
      engineOfCase(kTwoHosts, {.plan = {.ranks = 2}},
                   {.folder = "checkpoints", .everySteps = 2, .resumes = resumes, .gathers = true},
                   {.env = testing::envOfRank(rank, 2, port)});
  const std::vector<double> losses =
      engine.fit(rowsOfCase(kTwoHosts), {.stepsPerEpoch = resumes ? 8 : 4}).losses;
  if (!resumes) {
    engine.save("weights");
    engine.load("weights");
  }
  engine.finish();
  if (!resumes) return 0;
  std::ofstream file(lossesFile(rank));
  file.precision(17);
  for (const double loss : losses) file << loss << "\n";
  return 0;
}

TEST(GatheredFilesDeathTest, HostsWithoutASharedFolderAreRefusedBeforeTraining) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  fs::remove_all(folderOf("apart"));
  const auto body = [](int rank, int port, pid_t) {
    return isRefused(rank, port, {.folder = "checkpoints", .everySteps = 2});
  };
  EXPECT_EXIT(endWithTwoProcesses(body), ::testing::ExitedWithCode(0),
              "rank 1 does not see rank 0's folder checkpoints(.|\n)*"
              "exit code 0\n(.|\n)*exit code 0\n");
  EXPECT_TRUE(fs::is_empty(folderOf("apart") + "/host 1"));
  fs::remove_all(folderOf("apart"));
}

TEST(GatheredFilesDeathTest, RankZeroHasAllFilesAndTrainingGoesOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const bool resumes : {false, true}) {
    const auto body = [resumes](int rank, int port, pid_t) {
      return trainGathered(rank, port, resumes);
    };
    // The process of a death test runs again what stands before it.
    const auto train = [&] {
      if (!resumes) fs::remove_all(folderOf("gathered"));
      endWithTwoProcesses(body);
    };
    EXPECT_EXIT(train(), ::testing::ExitedWithCode(0), "exit code 0\n(.|\n)*exit code 0\n");
  }
  const std::vector<double> whole = lossesUnder(kTwoHosts, {.plan = {.ranks = 2}});
  for (const int rank : {0, 1}) {
    std::ifstream file(lossesFile(rank));
    const std::vector<double> rest(std::istream_iterator<double>(file), {});
    EXPECT_EQ(rest, lastOf(whole, 4)) << rank;
  }
  const std::string first = folderOf("gathered") + "/host 0";
  for (int block = 0; block < 8; ++block) {
    const std::string name = "/block_" + std::to_string(block) + ".pt";
    EXPECT_TRUE(fs::exists(first + "/checkpoints/step_8" + name)) << block;
    EXPECT_TRUE(fs::exists(first + "/weights" + name)) << block;
  }
  EXPECT_TRUE(fs::is_empty(folderOf("gathered") + "/host 1"));
  fs::remove_all(folderOf("gathered"));
}

}  // namespace
}  // namespace pipetrace
