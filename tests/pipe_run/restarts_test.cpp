// --restarts: all ranks start again after one has died.
#include <gmock/gmock.h>

#include "tests/pipe_run/config_folder.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kTrainingToRestart =
    "log_directory: logs\n"
    "machines: ['localhost:0', 'localhost:1', 'localhost:2']\n"
    "sync_mode: bsp\n"
    "schedule: 1F1B\n"
    "steps: 16\n"
    "model: layers\n"
    "layers: 6\n"
    "width: 16\n"
    "rows: 12\n"
    "pace_ms: 20\n"
    "micro_batches: 3\n";

std::string faulty() { return test::inBuild("bin/faulty_training"); }

TEST(RestartsTest, KillsInTwoStepsEndWithTheLossesOfARunWithoutThem) {
  const ConfigFolder folder;
  const ProgramRun uncut = folder.run(
      "directory: " + faulty() + "\nlosses: " + folder.path("uncut") + "\n" + kTrainingToRestart);
  EXPECT_EQ(uncut.exitCode, 0) << uncut.err;
  const std::string all = folder.text("uncut");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 16);
  // Rank 1 dies in step 5 of the first start, rank 0 in step 12 of the second.
  folder.writeProgram("dies.sh",
                      "case $TORCHELASTIC_RESTART_COUNT in\n"
                      "'') PIPETRACE_FAULT='kill-forward 1 5 0 1';;\n"
                      "1) PIPETRACE_FAULT='kill-backward 0 12 0 2';;\n"
                      "esac\n"
                      "export PIPETRACE_FAULT\n"
                      "exec " +
                          faulty() + " \"$@\"\n");
  const ProgramRun cut =
      folder.run("directory: dies.sh\nlosses: " + folder.path("cut") +
                     "\ncheckpoint: saved\ncheckpoint_every: 2\n" + kTrainingToRestart,
                 {"--restarts", "2"});
  EXPECT_EQ(cut.exitCode, 0) << cut.err;
  EXPECT_THAT(cut.err, AllOf(HasSubstr("rank 1 was killed by signal 9 (SIGKILL)"),
                             HasSubstr("all ranks start again (1 of 2)"),
                             HasSubstr("rank 0 was killed by signal 9 (SIGKILL)"),
                             HasSubstr("all ranks start again (2 of 2)")));
  EXPECT_THAT(cut.out, ContainsRegex("rank 0 died, [^;]*; this rank, [12], was [^;]* of step 12 "))
      << "steps go on from the checkpoint in errors, too";
  // A checkpoint may not have been whole when the rank died.
  EXPECT_THAT(cut.out, AllOf(ContainsRegex("goes on from step [24] of "),
                             ContainsRegex("goes on from step 1[02] of ")));
  // The last start's, which are the last ones of the uncut run.
  const std::string last = folder.text("cut");
  EXPECT_THAT(last, SizeIs(::testing::Gt(0U)));
  EXPECT_TRUE(all.ends_with(last)) << all << " but " << last;
  for (int step = 0; step < 16; ++step) {
    const std::string start = "step " + std::to_string(step) + " loss ";
    const auto lossIn = [&](const std::string& out) {
      const std::size_t at = out.rfind(start);
      return at == std::string::npos ? "" : out.substr(at, out.find(',', at) - at);
    };
    EXPECT_NE(lossIn(uncut.out), "") << step;
    EXPECT_EQ(lossIn(cut.out), lossIn(uncut.out)) << step;
  }
}

TEST(RestartsTest, WithoutACheckpointTheTrainingBeginsAgain) {
  const ConfigFolder folder;
  folder.writeProgram("dies.sh",
                      "[ -z \"$TORCHELASTIC_RESTART_COUNT\" ] && "
                      "export PIPETRACE_FAULT='kill-forward 1 3 0 1'\n"
                      "exec " +
                          faulty() + " \"$@\"\n");
  const ProgramRun run = folder.run(std::string("directory: dies.sh\n") + kTrainingToRestart +
                                        "checkpoint_dir: saved\ncheckpoint_every: 100\n",
                                    {"--restarts", "1"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("step 15 loss"), Not(HasSubstr("goes on"))));
  ASSERT_THAT(folder.runFolders(), SizeIs(1));
  const std::string log = folder.text(folder.runFolders().front() + "/workerlog.0");
  EXPECT_NE(log.find("Profiler Meta:"), log.rfind("Profiler Meta:")) << "both starts are in it";
}

TEST(RestartsTest, ATrainingThatHadEndedWhenARankDiedEndsWellAtTheRestart) {
  const ConfigFolder folder;
  folder.writeProgram("dies-late.sh", faulty() +
                                          " \"$@\" || exit\n"
                                          "[ \"$RANK\" = 1 ] && "
                                          "[ -z \"$TORCHELASTIC_RESTART_COUNT\" ] && kill -9 $$\n"
                                          "exit 0\n");
  const ProgramRun run = folder.run(std::string("directory: dies-late.sh\n") + kTrainingToRestart +
                                        "checkpoint_dir: saved\ncheckpoint_every: 100\n",
                                    {"--restarts", "1"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("all ranks start again (1 of 1)"));
  EXPECT_THAT(run.out, HasSubstr("the checkpoint is of step 16, the last one: this training had "
                                 "ended"));
}

TEST(RestartsTest, ProgramsAfterDashesStartAgainAndTheLastFailureCounts) {
  const RecordedLog log;
  const ProgramRun run =
      pipeRun({"--ranks", "2", "--restarts", "2", "--log-dir", log.folder(), "--", "/bin/sh", "-c",
               "echo start $TORCHELASTIC_RESTART_COUNT; [ $RANK = 0 ] && exec sleep 100; exit 7"});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_EQ(log.text(1), "start\nstart 1\nstart 2\n");
  EXPECT_THAT(run.err, HasSubstr("pipe-run: all ranks start again (2 of 2)\n"));
  EXPECT_THAT(run.err, Not(HasSubstr("(3 of")));
}

TEST(RestartsTest, ARunThatEndsWellIsNotStartedAgain) {
  const RecordedLog log;
  const ProgramRun run = pipeRun({"--restarts", "5", "--log-dir", log.folder(), "--", "/bin/sh",
                                  "-c", "echo start; [ -n \"$TORCHELASTIC_RESTART_COUNT\" ]"});
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_EQ(log.text(0), "start\nstart\n");
}

TEST(RestartsTest, CtrlCEndsARunForGood) {
  const RecordedLog log;
  const ProgramRun run =
      pipeRun({"--restarts", "5", "--log-dir", log.folder(), "--", "/bin/sh", "-c",
               "echo start; trap 'exit 3' INT; kill -INT $PPID; while :; do sleep 0.1; done"});
  EXPECT_EQ(run.exitCode, 130);
  EXPECT_EQ(log.text(0), "start\n");
}

}  // namespace
}  // namespace pipetrace
