// A signal ends the step on all ranks and saves.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/engine/engine_main.h"
#include "runtime/engine/testing/resumed_case.h"
#include "runtime/engine/testing/two_processes.h"

namespace pipetrace {
namespace {

using testing::CaseModel;
using testing::engineOfCase;
using testing::kStepsOfRun;
using testing::lastOf;
using testing::lossesUnder;
using testing::ResumedCase;
using testing::rowsOfCase;

const ResumedCase kTrained{.model = CaseModel::kMlp};

/// Trains until a signal comes to process `interrupted`, which gets one in step 2. Returns the exit
/// code of a training program. For a process of its own: signals must be blocked in all its
/// threads.
int trainUntilASignal(const std::string& folder, EngineOptions options, pid_t interrupted) {
  return engineMain([&](StopSignal& stop) {
    options.stop = &stop;
    Engine engine = engineOfCase(kTrained, {.plan = {.ranks = 2}},
                                 {.folder = folder, .onStop = true}, std::move(options));
    const FitCallback interrupts{
        .everySteps = 1, .call = [&](const StepReport& report) {
          if (report.step == 2) kill(interrupted, SIGTERM);
          while (interrupted == getpid() && stop.received() == 0 && report.step == 2) {
            usleep(100);
          }
          return true;
        }};
    // The signal of another process comes at its time.
    engine.fit(rowsOfCase(kTrained), {.epochs = 10'000, .callbacks = {interrupts}});
  });
}

TEST(StoppedDeathTest, ASignalEndsTheStepAndSaves) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The same in the process of the death test.
  const std::string folder = ::testing::TempDir() + "/pipetrace_saved_by_a_signal";
  std::filesystem::remove_all(folder);
  EXPECT_EXIT(std::_Exit(trainUntilASignal(folder, {}, getpid())),
              ::testing::ExitedWithCode(128 + SIGTERM),
              "stopped by SIGTERM; the training is saved in .*saved_by_a_signal");
  const std::vector<double> whole = lossesUnder(kTrained, {.plan = {.ranks = 2}});
  const std::vector<double> rest =
      lossesUnder(kTrained, {.plan = {.ranks = 2}}, {.folder = folder, .resumes = true});
  EXPECT_EQ(rest, lastOf(whole, kStepsOfRun - 3)) << "step 2 ended";
  std::filesystem::remove_all(folder);
}

TEST(StoppedDeathTest, ASignalOfOneProcessIsTheExitCodeOfAll) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string folder = ::testing::TempDir() + "/pipetrace_saved_by_two_processes";
  std::filesystem::remove_all(folder);
  const auto train = [&](int rank, int port, pid_t first) {
    return trainUntilASignal(folder, {.env = testing::envOfRank(rank, 2, port)},
                             rank == 0 ? getpid() : first);
  };
  EXPECT_EXIT(testing::endWithTwoProcesses(train), ::testing::ExitedWithCode(0),
              "exit code 143(.|\n)*exit code 143");
  EXPECT_GE(newestCheckpoint(folder).value_or(0), 3);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pipetrace
