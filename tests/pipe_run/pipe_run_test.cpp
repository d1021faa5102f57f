// pipe-run as a user meets it: its output, its files, its exit codes.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "ingest/testing/skewed_run.h"
#include "profiler/testing/recorded_log.h"
#include "tests/pipe_run/run_pipe_run.h"
#include "trace/log/write_job_logs.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> rehearsal(const RecordedLog& log, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"rehearse", "--log-dir", log.folder()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(PipeRunTest, RanksRunAndTheirOutputIsShownAndStored) {
  RecordedLog log;
  const ProgramRun run = pipeRun({"--ranks", "2", "--log-dir", log.folder(), "--", "/bin/sh", "-c",
                                  "echo \"$0 $1\" $RANK", "--flag", "rehearse"});
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, AllOf(HasSubstr("[rank 0] --flag rehearse 0\n"),
                             HasSubstr("[rank 1] --flag rehearse 1\n")));
  EXPECT_EQ(log.text(1), "--flag rehearse 1\n");
}

TEST(PipeRunTest, RecordingIsSwitchedOnInBothSpellings) {
  for (const char* const flag : {"--visualize-pipeline", "--visualize_pipline"}) {
    RecordedLog log;
    const ProgramRun run = pipeRun({flag, "--log-dir", log.folder(), "--", "/bin/sh", "-c",
                                    "echo $PIPETRACE in $PIPETRACE_LOG_DIR"});
    EXPECT_EQ(run.exitCode, 0) << run.err;
    EXPECT_EQ(log.text(), "1 in " + log.folder() + "\n");
  }
}

TEST(PipeRunTest, AFailedRankIsNamedWithItsLastWords) {
  RecordedLog log;
  const ProgramRun run = pipeRun({"--ranks", "2", "--log-dir", log.folder(), "--", "/bin/sh", "-c",
                                  "[ $RANK = 0 ] && exec sleep 100; echo oh no; exit 7"});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_EQ(run.err, "pipe-run: rank 1 exited with status 7; last lines of its output:\n  oh no\n");
}

TEST(PipeRunTest, OnATerminalTheLastWordsOfAFailedRankAreShownOnce) {
  RecordedLog log;
  ProgramSetting setting;
  setting.inChild = [] { dup2(STDOUT_FILENO, STDERR_FILENO); };
  const ProgramRun run =
      pipeRun({"--log-dir", log.folder(), "--", "/bin/sh", "-c", "echo oh no; exit 7"}, setting);
  EXPECT_EQ(run.out,
            "[rank 0] oh no\n"
            "pipe-run: rank 0 exited with status 7; its last lines are above, after [rank 0]\n");
}

TEST(PipeRunTest, AFullDiskUnderStandardOutputHidesNoLastWords) {
  RecordedLog log;
  ProgramSetting setting;
  setting.outFile = "/dev/full";
  const ProgramRun run =
      pipeRun({"--log-dir", log.folder(), "--", "/bin/sh", "-c", "echo oh no; exit 7"}, setting);
  EXPECT_EQ(run.err, "pipe-run: rank 0 exited with status 7; last lines of its output:\n  oh no\n");
}

TEST(PipeRunTest, CtrlCEndsTheRun) {
  RecordedLog log;
  ProgramSetting setting;
  setting.meanwhile = [&](int pid) {
    for (int i = 0; i < 1000 && log.text(1).empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill(pid, SIGINT);
  };
  const ProgramRun run = pipeRun({"--ranks", "2", "--log-dir", log.folder(), "--", "/bin/sh", "-c",
                                  "echo ready; exec sleep 100"},
                                 setting);
  EXPECT_EQ(run.exitCode, 128 + SIGINT);
  EXPECT_EQ(run.err, "pipe-run: stopped by signal 2 (SIGINT)\n");
}

TEST(PipeRunTest, EndsWithItsRanksWhereItsOutputsAreClosed) {
  RecordedLog log;
  const ProgramRun run = runProgram({"/bin/sh", "-c", "exec <&- >&- 2>&-; exec \"$@\"", "sh",
                                     test::inBuild("bin/pipe-run"), "--ranks", "2", "--log-dir",
                                     log.folder(), "--", "/bin/echo", "trained"});
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_THAT(log.text(0), HasSubstr("trained\n"));
  EXPECT_THAT(log.text(1), Not(HasSubstr("[rank")));
}

TEST(PipeRunTest, RehearsePrintsMeasuredBesidePlanned) {
  RecordedLog log;
  std::ofstream(log.path(9)) << "of an earlier run\n";
  const ProgramRun run =
      pipeRun(rehearsal(log, {"--schedule", "1F1B", "--ranks", "3", "--micro-batches", "4",
                              "--steps", "2", "--forward-ms", "2.5", "--backward-ms", "5"}));
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("step length"), HasSubstr("45.00 ms"),
                             HasSubstr("bubble ratio"), HasSubstr("0.3333"),
                             HasSubstr("every rank ran its jobs in the order of the plan")));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(log.lines("Profiler Info: ", rank), SizeIs(2 * (4 * 2 + 2)));
  }
  EXPECT_FALSE(std::filesystem::exists(log.path(9)));
}

TEST(PipeRunTest, RecomputesOfAnOptionOrAFileAreRehearsed) {
  RecordedLog log;
  const std::vector<std::string> times = {"--steps",       "1",  "--forward-ms",  "5",
                                          "--backward-ms", "10", "--recompute-ms"};
  const auto with = [&](std::vector<std::string> arguments, const char* recompute) {
    arguments.insert(arguments.end(), times.begin(), times.end());
    arguments.emplace_back(recompute);
    return pipeRun(rehearsal(log, arguments));
  };
  const ProgramRun built =
      with({"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "3"}, "0,4");
  EXPECT_EQ(built.exitCode, 0) << built.err;
  // (m + p - 1) (F + B) + m R, as the last rank is the one that recomputes.
  EXPECT_THAT(built.out, testing::ContainsRegex("step length +[67][0-9]\\.[0-9]+ ms +72\\.00 ms"));
  EXPECT_THAT(log.text(0), Not(HasSubstr("type = recompute")));
  EXPECT_THAT(log.text(1), HasSubstr("type = recompute, micro_batch_id = 2,"));
  const std::string file = log.folder() + "/plan.csv";
  std::ofstream(file) << "0F0,0F1,0B0,0R1,0B1\n1F0,1R0,1B0,1F1,1B1\n";
  const ProgramRun read = with({"--schedule-file", file}, "3");
  EXPECT_EQ(read.exitCode, 0) << read.err;
  // Rank 1: F 5, R 10, B 13 to 23, F 23, B 28 to 38; rank 0: B 23 to 33, R to 36, B 38 to 48.
  EXPECT_THAT(read.out, HasSubstr("48.00 ms"));
}

TEST(PipeRunTest, CostsOfSingleJobsInAFileAreRehearsed) {
  RecordedLog log;
  const std::string costs = log.folder() + "/costs of jobs.json";
  std::ofstream(costs) << R"({"forward_ms": 5, "backward_ms": 10, "jobs_ms": {"1F0": 15}})";
  const ProgramRun run = pipeRun(rehearsal(
      log, {"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2", "--costs", costs}));
  EXPECT_EQ(run.exitCode, 0) << run.err;
  // Rank 1: F 5 to 20, B to 30, F to 35, B to 45; rank 0: B 30 to 40, B 45 to 55.
  EXPECT_THAT(run.out, testing::ContainsRegex("step length +5[4-9]\\.[0-9]+ ms +55\\.00 ms"));
}

TEST(PipeRunTest, ARehearsedRankThatStallsIsNamedAndTheLogsAreReadable) {
  RecordedLog log;
  const ProgramRun run =
      pipeRun(rehearsal(log, {"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2",
                              "--steps", "2", "--forward-ms", "5", "--backward-ms", "10", "--delay",
                              "1F1@1=60s", "--step-timeout", "0.3"}));
  EXPECT_EQ(run.exitCode, 124);
  EXPECT_THAT(run.err, AllOf(HasSubstr("error: rank 1 stalled: it ended no action for "),
                             HasSubstr(", in 1F1 of step 1 (9 actions ended)")));
  // Both have written step 0, and rank 0 what it did of step 1.
  EXPECT_THAT(log.lines("Profiler Info: ", 1), SizeIs(testing::Ge(6U)));
  EXPECT_THAT(log.lines("Profiler Info: ", 0), SizeIs(testing::Ge(6U)));
}

TEST(PipeRunTest, FaultOfOneStepIsShownInItsStepAndNamed) {
  RecordedLog log;
  const ProgramRun run = pipeRun(
      rehearsal(log, {"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2", "--steps", "3",
                      "--forward-ms", "5", "--backward-ms", "10", "--delay", "1F0@1=30ms"}));
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(testing::ContainsRegex("step length +4[4-9]\\.[0-9]+ ms +45\\.00 ms"),
                    testing::ContainsRegex("step 1 length +7[4-9]\\.[0-9]+ ms +75\\.00 ms"),
                    HasSubstr("median of 2 steps, without step 1;"),
                    HasSubstr("with planted faults: --delay 1F0@1=30ms\n")));
}

TEST(PipeRunTest, AnInterleavedScheduleIsRehearsedInChunks) {
  RecordedLog log;
  std::vector<std::string> arguments =
      rehearsal(log, {"--schedule", "Interleaved1F1B", "--ranks", "2", "--micro-batches", "4",
                      "--steps", "1", "--forward-ms", "10", "--backward-ms", "20"});
  const ProgramRun usual = pipeRun(arguments);
  EXPECT_EQ(usual.exitCode, 0) << usual.err;
  // v m (F + B) + (p - 1) (F + B), in units of a chunk. A late start shows in the measured length.
  EXPECT_THAT(usual.out, AllOf(testing::ContainsRegex("2[67][0-9]\\.[0-9] ms +270\\.0 ms"),
                               HasSubstr("in the order of the plan")));
  EXPECT_THAT(log.lines("chunk = 1", 1), SizeIs(testing::Ge(8)));
  arguments.insert(arguments.end(), {"--chunks", "3"});
  EXPECT_THAT(pipeRun(arguments).out,
              testing::ContainsRegex("(38|39|40)[0-9]\\.[0-9] ms +390\\.0 ms"));
}

TEST(PipeRunTest, CostsAreTakenFromARun) {
  RecordedLog first;
  ASSERT_EQ(pipeRun(rehearsal(first, {"--schedule", "FThenB", "--ranks", "2", "--micro-batches",
                                      "2", "--steps", "3", "--forward-ms", "20", "--backward-ms",
                                      "40", "--transfer-ms", "5"}))
                .exitCode,
            0);
  RecordedLog second;
  const ProgramRun run =
      pipeRun(rehearsal(second, {"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "4",
                                 "--steps", "1", "--costs-from", first.folder()}));
  EXPECT_EQ(run.exitCode, 0) << run.err;
  // 5 (F + B) + 2 transfers on the way through the last stage and back, and no less.
  const std::size_t at = run.out.find("step length");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NEAR(std::stod(run.out.substr(at + 12)), 5 * 60 + 2 * 5, 20);
}

TEST(PipeRunTest, CostsOfARunOfTwoHostsAreTheSameWhateverTheirClocksShow) {
  const auto plannedStep = [](Nanoseconds behind) {
    const RecordedLog measured;
    writeJobLogs(test::runOfTwoHosts(behind), measured.folder());
    const RecordedLog log;
    const ProgramRun run =
        pipeRun(rehearsal(log, {"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "1",
                                "--steps", "1", "--costs-from", measured.folder()}));
    std::istringstream line(run.out.substr(std::min(run.out.find("step length"), run.out.size())));
    std::string word, length, unit;
    for (std::string* each : {&word, &word, &word, &word, &length, &unit}) line >> *each;
    EXPECT_EQ(unit, "ms") << run.out << run.err;
    return length;
  };
  EXPECT_EQ(plannedStep(7'000'123), plannedStep(0));
}

TEST(PipeRunTest, AScheduleFileIsRehearsed) {
  RecordedLog log;
  const std::string file = log.folder() + "/plan.csv";
  std::ofstream(file) << "0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n";
  const std::vector<std::string> costs = {"--steps",       "1", "--forward-ms", "1",
                                          "--backward-ms", "1"};
  std::vector<std::string> arguments = rehearsal(log, {"--schedule-file", file});
  arguments.insert(arguments.end(), costs.begin(), costs.end());
  const ProgramRun run = pipeRun(arguments);
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("in the order of the plan"));
  EXPECT_THAT(log.lines("action = 1B1"), SizeIs(0));
  EXPECT_THAT(log.lines("action = 1B1", 1), SizeIs(1));
  arguments.insert(arguments.end(), {"--ranks", "3"});
  EXPECT_THAT(pipeRun(arguments).err, HasSubstr("--ranks 3 contradicts"));
}

const std::vector<std::string> kEqualTimes = {"--steps",         "1", "--schedule",    "1F1B",
                                              "--ranks",         "2", "--forward-ms",  "1",
                                              "--micro-batches", "1", "--backward-ms", "1"};

TEST(PipeRunTest, ARehearsalThatIsRefusedLeavesOldLogsAlone) {
  const RecordedLog log;
  std::ofstream(log.path(5)) << "worth keeping\n";
  const RecordedLog plans;
  const std::string stuck = plans.folder() + "/stuck.csv";
  std::ofstream(stuck) << "0B0,0F0\n";
  const ProgramRun run = pipeRun(
      rehearsal(log, {"--schedule-file", stuck, "--forward-ms", "1", "--backward-ms", "1"}));
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("0B0"));
  EXPECT_EQ(log.text(5), "worth keeping\n");
}

TEST(PipeRunTest, MessagesAreRehearsedInLineOrRefusedWithTheCircle) {
  const RecordedLog log;
  std::ofstream(log.path(5)) << "worth keeping\n";
  std::vector<std::string> arguments = rehearsal(
      log, {"--schedule", "LoopedBFS", "--ranks", "4", "--micro-batches", "8", "--forward-ms", "1",
            "--backward-ms", "2", "--steps", "1", "--comm-streams", "rank", "--transfers", "0"});
  ProgramRun run = pipeRun(arguments);
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("cannot run with its messages in line: rank 0, cell"),
                             HasSubstr("that closes the cycle")));
  EXPECT_EQ(log.text(5), "worth keeping\n");
  arguments.back() = "in-time";
  run = pipeRun(arguments);
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("8 micro-batches, a line of messages for each rank\n"));
  EXPECT_THAT(run.out, HasSubstr("every rank ran its jobs in the order of the plan\n"));
  EXPECT_THAT(log.text(), HasSubstr("messages"));
  arguments.insert(arguments.end(), {"--credits", "2"});
  run = pipeRun(arguments);
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("every rank ran its jobs in the order of the plan\n"));
}

TEST(PipeRunTest, TheRunThatIsMeasuredIsNotReplaced) {
  const RecordedLog log;
  ASSERT_EQ(pipeRun(rehearsal(log, kEqualTimes)).exitCode, 0);
  const std::string before = log.text(1);
  const std::string link = log.folder() + "/link";
  std::filesystem::create_directory_symlink(log.folder(), link);
  for (const std::string& input : {log.folder(), log.folder() + "/", link, log.path(1)}) {
    const ProgramRun run = pipeRun(rehearsal(log, {"--schedule", "1F1B", "--ranks", "2",
                                                   "--micro-batches", "1", "--costs-from", input}));
    EXPECT_EQ(run.exitCode, 2) << input;
    EXPECT_THAT(run.err, HasSubstr(input == log.path(1) ? "" : "choose another folder"));
    EXPECT_EQ(log.text(1), before) << input;
  }
}

TEST(PipeRunTest, JobsOfNoLengthAreOnThePlan) {
  const RecordedLog log;
  const ProgramRun run = pipeRun(
      rehearsal(log, {"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "1", "--steps", "1",
                      "--forward-ms", "0", "--backward-ms", "0", "--strict"}));
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("on 2 emulated devices: 1 step of 1 micro-batch\n"));
  EXPECT_THAT(run.out, testing::ContainsRegex("step length +0 ns +0 ns +\\+0.00 %"));
  EXPECT_THAT(run.out + run.err, Not(HasSubstr("inf")));
}

TEST(PipeRunTest, ASignalEndsARehearsalWithWholeLogs) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const RecordedLog log;
    ProgramSetting setting;
    setting.meanwhile = [&](int pid) {
      for (int i = 0; i < 1000 && log.lines("Profiler Info: ", 1).empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      kill(pid, signal);
    };
    const ProgramRun run =
        pipeRun(rehearsal(log, {"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2",
                                "--steps", "100000", "--forward-ms", "5", "--backward-ms", "5"}),
                setting);
    EXPECT_EQ(run.exitCode, 128 + signal);
    EXPECT_THAT(run.err, HasSubstr("pipe-run: stopped by signal " + std::to_string(signal)));
    for (int rank = 0; rank < 2; ++rank) EXPECT_THAT(log.lines("Profiler End: ", rank), SizeIs(1));
  }
}

TEST(PipeRunTest, EveryStageMayHaveATimeOfItsOwn) {
  RecordedLog log;
  const ProgramRun run = pipeRun(
      rehearsal(log, {"--schedule", "1F1B", "--stages", "3", "--micro-batches", "2", "--steps", "1",
                      "--forward-ms", "2,2,8", "--backward-ms", "4,4.5,16"}));
  EXPECT_EQ(run.exitCode, 0) << run.err;
  // Two pairs on the last rank, and the way there and back through the others.
  EXPECT_THAT(run.out, testing::ContainsRegex("step length +[0-9.]+ ms +60\\.50 ms"));
}

TEST(PipeRunTest, CostsOfSeveralRunsAreRefused) {
  const RecordedLog first;
  const RecordedLog second;
  for (const RecordedLog* const each : {&first, &second}) {
    writeJobLogs(test::runOfTwoHosts(0), each->folder());
  }
  const RecordedLog log;
  const ProgramRun run =
      pipeRun(rehearsal(log, {"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "1",
                              "--costs-from", first.folder(), "--costs-from", second.folder()}));
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("the inputs of --costs-from are of several runs: " +
                                 second.folder() + "/workerlog.0"));
}

}  // namespace
}  // namespace pipetrace
