#include "runtime/starting_ranks/launcher.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "profiler/clock/wall_clock.h"
#include "runtime/testing/shell_ranks.h"
#include "trace/error.h"
#include "trace/sockets/tcp.h"
#include "trace/testing/file_text.h"
#include "trace/testing/has_ended.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

bool waitFor(const std::function<bool()>& condition, Nanoseconds limit = 10 * kNsPerSecond) {
  const Nanoseconds end = monotonicNow() + limit;
  while (!condition()) {
    if (monotonicNow() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// A process of its own that launches, for tests that send it signals. Its exit status is the
/// launch's exit code.
class LaunchingProcess {
 public:
  explicit LaunchingProcess(const LaunchOptions& options) : pid_(fork()) {
    if (pid_ == 0) {
      int code = 99;
      try {
        code = launch(options).exitCode;
      } catch (const Error&) {
      }
      _exit(code);
    }
  }
  ~LaunchingProcess() {
    if (running_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  LaunchingProcess(const LaunchingProcess&) = delete;
  LaunchingProcess& operator=(const LaunchingProcess&) = delete;

  void signal(int number) const { kill(pid_, number); }
  int exitStatus() {
    int status = 0;
    waitpid(pid_, &status, 0);
    running_ = false;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;
  bool running_ = true;
};

TEST(LauncherTest, RanksGetTheirPlaceInTheVariablesOfTorchrun) {
  RecordedLog log;
  unsetenv("OMP_NUM_THREADS");
  setenv("RANK", "77", 1);
  setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  LaunchOptions options = shellRanks(
      log, 3,
      "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $OMP_NUM_THREADS "
      "${TORCHELASTIC_USE_AGENT_STORE:-none} $PIPETRACE_LOG_DIR; echo port=$MASTER_PORT");
  EXPECT_EQ(launch(options).exitCode, 0);
  unsetenv("RANK");
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  for (int rank = 0; rank < 3; ++rank) {
    const std::string r = std::to_string(rank);
    EXPECT_THAT(log.text(rank),
                StartsWith(r + " " + r + " 3 3 127.0.0.1 1 none " + log.folder() + "\nport="));
    EXPECT_EQ(log.lines("port="), log.lines("port=", rank));
  }
  EXPECT_GT(std::stoi(log.lines("port=").at(0)), 0);
}

TEST(LauncherTest, AGivenPortIsUsedAndATakenOneRefused) {
  RecordedLog log;
  OwnedFd listener = listenAt("127.0.0.1");
  LaunchOptions options = shellRanks(log, 1, "echo port=$MASTER_PORT");
  options.masterPort = portOf(listener);
  EXPECT_THROW(launch(options), Error);
  listener.reset();
  EXPECT_EQ(launch(options).exitCode, 0);
  EXPECT_EQ(log.lines("port=").at(0), std::to_string(options.masterPort));
}

/// Whether a program that does not share ports can have this one.
bool isFree(int port) {
  const OwnedFd one(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return bind(one.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

TEST(LauncherTest, ThePortOfTheRanksIsHeldUntilTheyHaveEnded) {
  RecordedLog log;
  LaunchingProcess launching(shellRanks(log, 2, "echo port=$MASTER_PORT; sleep 60"));
  ASSERT_TRUE(waitFor([&] { return !log.lines("port=").empty(); }));
  const int port = std::stoi(log.lines("port=").at(0));
  EXPECT_FALSE(isFree(port));
  launching.signal(SIGTERM);
  launching.exitStatus();
  EXPECT_TRUE(isFree(port));
}

TEST(LauncherTest, OutputAndErrorsLandInTheRanksFileAndPrefixedOnTheDisplay) {
  RecordedLog log;
  LaunchOptions options = shellRanks(log, 2, "echo out $RANK; echo err $RANK >&2");
  const std::string shown = log.folder() + "/shown";
  options.display = open(shown.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  EXPECT_EQ(launch(options).exitCode, 0);
  close(options.display);
  EXPECT_EQ(log.text(0), "out 0\nerr 0\n");
  EXPECT_EQ(log.text(1), "out 1\nerr 1\n");
  const std::string text = test::fileText(shown);
  for (const char* line : {"[rank 0] out 0\n", "[rank 0] err 0\n", "[rank 1] out 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(LauncherTest, ARankThatExitsWithAnErrorEndsTheOthersWithTheReason) {
  RecordedLog log;
  LaunchOptions options = shellRanks(
      log, 4, "[ $RANK = 2 ] && { echo no such tensor; exit 3; }; trap '' TERM; sleep 1000");
  options.killDelay = kNsPerSecond;
  const Nanoseconds start = monotonicNow();
  const LaunchResult result = launch(options);
  EXPECT_LT(monotonicNow() - start, 10 * kNsPerSecond);
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_EQ(result.reason,
            "rank 2 exited with status 3; last lines of its output:\n  no such tensor\n");
}

TEST(LauncherTest, TheReasonRepeatsLastLinesOnlyWhereTheDisplayDoesNotShowThemJustAbove) {
  RecordedLog log;
  const std::string shown = log.folder() + "/shown";
  const int file = open(shown.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  const auto reasonOf = [&](int display, int reasonDisplay, const std::string& script) {
    LaunchOptions options = shellRanks(log, 1, script);
    options.display = display;
    options.reasonDisplay = reasonDisplay;
    return launch(options).reason;
  };
  const std::string fails = "echo no such tensor; exit 3";
  const std::string repeated =
      "rank 0 exited with status 3; last lines of its output:\n  no such tensor\n";
  EXPECT_EQ(reasonOf(file, file, fails),
            "rank 0 exited with status 3; its last lines are above, after [rank 0]");
  EXPECT_EQ(reasonOf(file, STDERR_FILENO, fails), repeated);
  EXPECT_EQ(reasonOf(full, full, fails), repeated);  // the display could not show them
  EXPECT_EQ(reasonOf(-1, -1, fails), repeated);
  close(file);
  close(full);
  EXPECT_EQ(test::fileText(shown), "[rank 0] no such tensor\n[rank 0] no such tensor\n");
}

TEST(LauncherTest, TheReasonRepeatsLastLinesThatAreFarAboveOnTheDisplay) {
  RecordedLog log;
  const std::string shown = log.folder() + "/shown";
  LaunchOptions options = shellRanks(
      log, 2,
      std::string("if [ $RANK = 0 ]; then echo no such tensor; ") +
          "echo > $PIPETRACE_LOG_DIR/said; until [ -e $PIPETRACE_LOG_DIR/buried ]; " +
          "do sleep 0.05; done; exit 3; fi; " +
          "until [ -e $PIPETRACE_LOG_DIR/said ]; do sleep 0.05; done; sleep 0.5; seq 100; " +
          "sleep 0.5; echo > $PIPETRACE_LOG_DIR/buried; sleep 1000");
  options.display = options.reasonDisplay =
      open(shown.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  EXPECT_EQ(launch(options).reason,
            "rank 0 exited with status 3; last lines of its output:\n  no such tensor\n");
  close(options.display);
}

TEST(LauncherTest, ARankThatIsKilledEndsTheOthersWithinTenSeconds) {
  RecordedLog log;
  const LaunchOptions options = shellRanks(
      log, 3, "[ $RANK = 1 ] && kill -9 $$; trap '' TERM INT; while :; do sleep 1; done");
  const Nanoseconds start = monotonicNow();
  const LaunchResult result = launch(options);
  EXPECT_LT(monotonicNow() - start, 10 * kNsPerSecond);
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_EQ(result.reason, "rank 1 was killed by signal 9 (SIGKILL); it printed nothing");
}

TEST(LauncherTest, RanksThatHeedSigtermAreNotKilled) {
  RecordedLog log;
  const LaunchOptions options = shellRanks(
      log, 2,
      "trap 'echo saved; exit 0' TERM; echo ready; "
      "if [ $RANK = 0 ]; then until grep -q ready $PIPETRACE_LOG_DIR/workerlog.1; do sleep 0.05; "
      "done; exit 1; fi; while :; do sleep 0.05; done");
  const Nanoseconds start = monotonicNow();
  EXPECT_THAT(launch(options).reason, StartsWith("rank 0 exited with status 1"));
  EXPECT_LT(monotonicNow() - start, 4 * kNsPerSecond);
  EXPECT_THAT(log.text(1), HasSubstr("saved\n"));
}

TEST(LauncherTest, ProcessesThatARankStartedEndWithIt) {
  RecordedLog log;
  const LaunchOptions options = shellRanks(log, 1, "sleep 1000 & echo child=$!; exit 4");
  EXPECT_EQ(launch(options).exitCode, 2);
  const pid_t child = std::stoi(log.lines("child=").at(0));
  EXPECT_TRUE(waitFor([&] { return test::hasEnded(child); }));
}

TEST(LauncherTest, CtrlCReachesEachRankOnce) {
  RecordedLog log;
  LaunchingProcess process(
      shellRanks(log, 3,
                 "n=0; trap 'n=$((n+1)); echo caught $n' INT; echo ready; i=0; "
                 "while [ $n = 0 ]; do sleep 0.05; done; sleep 0.5; echo end $n"));
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(waitFor([&] { return log.text(rank) == "ready\n"; }));
  }
  process.signal(SIGINT);
  EXPECT_EQ(process.exitStatus(), 128 + SIGINT);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(log.text(rank), "ready\ncaught 1\nend 1\n");
  }
}

TEST(LauncherTest, ASecondSignalKillsRanksThatIgnoreTheFirst) {
  RecordedLog log;
  LaunchingProcess process(
      shellRanks(log, 2, "trap 'echo ignored' TERM; echo ready; while :; do sleep 0.05; done"));
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(waitFor([&] { return log.text(rank) == "ready\n"; }));
  }
  process.signal(SIGTERM);
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(waitFor([&] { return !log.lines("ignored", rank).empty(); }));
  }
  process.signal(SIGTERM);
  EXPECT_EQ(process.exitStatus(), 128 + SIGTERM);
}

TEST(LauncherTest, RanksDieWithTheLauncher) {
  RecordedLog log;
  LaunchingProcess process(shellRanks(log, 2, "echo pid=$$; exec sleep 1000"));
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(waitFor([&] { return !log.lines("pid=", rank).empty(); }));
    ranks.push_back(std::stoi(log.lines("pid=", rank)[0]));
  }
  process.signal(SIGKILL);
  EXPECT_EQ(process.exitStatus(), -SIGKILL);
  for (const pid_t rank : ranks) {
    EXPECT_TRUE(waitFor([&] { return test::hasEnded(rank); }));
  }
}

TEST(LauncherTest, AFloodOfOutputIsStoredWhole) {
  RecordedLog log;
  LaunchOptions options = shellRanks(log, 2, "seq 1 300000");
  const std::string shown = log.folder() + "/shown";
  options.display = open(shown.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  EXPECT_EQ(launch(options).exitCode, 0);
  close(options.display);
  std::string expected;
  for (int i = 1; i <= 300000; ++i) expected += std::to_string(i) + '\n';
  EXPECT_TRUE(log.text(0) == expected);
  EXPECT_TRUE(log.text(1) == expected);
  const std::string text = test::fileText(shown);
  EXPECT_EQ(text.size(), 2 * (expected.size() + 300000 * std::string("[rank 0] ").size()));
}

TEST(LauncherTest, BinaryOutputAndALongLineWithoutEndAreStored) {
  RecordedLog log;
  const LaunchOptions options =
      shellRanks(log, 1, "printf 'a\\000\\377b\\n'; head -c 1000000 /dev/zero | tr '\\000' x");
  EXPECT_EQ(launch(options).exitCode, 0);
  const std::string text = log.text();
  EXPECT_THAT(text, StartsWith(std::string("a\0\377b\n", 5)));
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 1000000);
  EXPECT_EQ(text.back(), '\n');
}

TEST(LauncherTest, ARankMayCloseItsOutputAndWorkOn) {
  RecordedLog log;
  const std::string file = log.folder() + "/done";
  const LaunchOptions options =
      shellRanks(log, 1, "echo first; exec >&- 2>&-; sleep 0.3; : > '" + file + "'; exit 0");
  EXPECT_EQ(launch(options).exitCode, 0);
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_EQ(log.text(), "first\n");
}

TEST(LauncherTest, AProcessThatARankLeavesBehindDoesNotHoldUpTheEnd) {
  RecordedLog log;
  const LaunchOptions options = shellRanks(log, 1, "setsid sleep 5 & echo started");
  const Nanoseconds start = monotonicNow();
  EXPECT_EQ(launch(options).exitCode, 0);
  EXPECT_LT(monotonicNow() - start, 4 * kNsPerSecond);
  EXPECT_EQ(log.text(), "started\n");
}

TEST(LauncherTest, AnIgnoredSigchldDoesNotHideThatRanksEnd) {
  const RecordedLog log;
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(launch(shellRanks(log, 2, "exit 0")).exitCode, 0);
  EXPECT_THAT(launch(shellRanks(log, 1, "exit 3")).reason, HasSubstr("3"));
  std::signal(SIGCHLD, before);
}

TEST(LauncherTest, RanksDoNotInheritSignalsThatTheLauncherIgnores) {
  const RecordedLog log;
  const auto pipe = std::signal(SIGPIPE, SIG_IGN);
  const auto size = std::signal(SIGXFSZ, SIG_IGN);
  launch(shellRanks(log, 1, "grep SigIgn /proc/self/status"));
  EXPECT_THAT(test::fileText(log.folder() + "/workerlog.0"),
              HasSubstr("SigIgn:\t0000000000000000"));
  std::signal(SIGPIPE, pipe);
  std::signal(SIGXFSZ, size);
}

TEST(LauncherTest, ADisplayThatNobodyReadsStopsNothing) {
  RecordedLog log;
  LaunchOptions options = shellRanks(log, 2, "seq 1 1000");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  options.display = ends[1];
  EXPECT_EQ(launch(options).exitCode, 0) << "and no SIGPIPE";
  close(ends[1]);
  EXPECT_THAT(log.text(1), testing::EndsWith("1000\n"));
}

TEST(LauncherTest, AStuckDisplayDoesNotKeepAFailedRunFromEnding) {
  RecordedLog log;
  LaunchOptions options =
      shellRanks(log, 2, "[ $RANK = 0 ] && { sleep 0.3; exit 5; }; while :; do echo flood; done");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  options.display = ends[1];
  const Nanoseconds start = monotonicNow();
  EXPECT_THAT(launch(options).reason, StartsWith("rank 0 exited with status 5"));
  EXPECT_LT(monotonicNow() - start, 10 * kNsPerSecond);
  close(ends[0]);
  close(ends[1]);
}

TEST(LauncherTest, AProgramThatCannotBeRunIsNamed) {
  RecordedLog log;
  LaunchOptions options = shellRanks(log, 2, "");
  for (const auto& [program, why] :
       {std::pair{"/no/such/program", "No such file or directory"},
        std::pair{"no-such-program-in-path", "No such file or directory"},
        std::pair{"/etc/passwd", "Permission denied"}}) {
    options.command = {program};
    try {
      launch(options);
      ADD_FAILURE() << program;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(program), HasSubstr(why)));
    }
  }
}

}  // namespace
}  // namespace pipetrace
