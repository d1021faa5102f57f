// Faults between pipe-run and other hosts: remote shells that hang, ask, die or lose their
// connection, other versions, and signals at every moment. Nothing is left on any host.
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/pipe_run/made_up_hosts.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Ranks that print steps until they are ended. Those on other hosts start what leaves their
/// process group.
constexpr const char* kSteps =
    "[ $RANK = 0 ] || setsid sleep 1000 & i=0; while :; do echo step $i; i=$((i+1)); sleep 0.1; "
    "done";

class HostsFailuresTest : public testing::Test {
 protected:
  /// Runs with a limit for the start, and measures.
  ProgramRun start(const std::string& remoteShell, double limit = 20) {
    std::vector<std::string> arguments =
        hosts_.arguments(MadeUpHosts::here() + ",b", remoteShell, "echo started");
    arguments.insert(arguments.begin(), {"--start-timeout", std::to_string(limit)});
    const auto begin = Clock::now();
    ProgramRun run = hosts_.run(arguments);
    seconds_ = secondsSince(begin);
    return run;
  }
  void expectNothingStarted() const {
    EXPECT_FALSE(std::filesystem::exists(hosts_.path("logs"))) << "old logs stay as they were";
    EXPECT_TRUE(hosts_.endWithin(5)) << hosts_.processes();
  }
  bool trains(int rank) const { return hosts_.logOf(rank).find("step 5\n") != std::string::npos; }

  MadeUpHosts hosts_;
  double seconds_ = 0;
};

TEST_F(HostsFailuresTest, ARemoteShellThatHangsIsGivenUp) {
  const ProgramRun run = start(hosts_.script("hangs", "trap '' TERM; sleep 1000; sleep 1000"), 1);
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("pipe-run: host b (rank 1) did not answer within 1 s"));
  EXPECT_LT(seconds_, 5);
  expectNothingStarted();
}

TEST_F(HostsFailuresTest, AllHostsThatDidNotAnswerAreNamed) {
  std::vector<std::string> arguments =
      hosts_.arguments("b,b,c,d",
                       hosts_.script("hangs-but-c",
                                     "[ $1 = c ] && exec /bin/sh -c "
                                     "\"$2\"; sleep 1000"),
                       "echo started");
  // Host c has to answer by then, also on a machine that does other things.
  arguments.insert(arguments.begin(), {"--start-timeout", "5"});
  const ProgramRun run = hosts_.run(arguments);
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("pipe-run: host b (ranks 0 and 1) did not answer within 5 s, nor "
                                 "did host d (rank 3)"));
  expectNothingStarted();
}

TEST_F(HostsFailuresTest, ARemoteShellThatAsksForAPasswordIsShownAndGetsNone) {
  const ProgramRun run = start(
      hosts_.script("asks", "while printf 'me@b password: '; do read -r answer || exit 1; done"),
      1);
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("host b (rank 1) did not answer within 1 s; last lines from "
                                       "there:\n"),
                             HasSubstr("  me@b password: ")));
  expectNothingStarted();
}

TEST_F(HostsFailuresTest, ARemoteShellHasNoTerminalToAskAt) {
  const ProgramRun run = start(hosts_.script(
      "asks-the-terminal",
      "if (: </dev/tty) 2>/dev/null; then sleep 1000; fi; echo 'no terminal' >&2; exit 6"));
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("host b (rank 1) is lost, as its remote shell exited with "
                                       "status 6; last lines from there:\n  no terminal")));
  expectNothingStarted();
}

TEST_F(HostsFailuresTest, ARemoteShellThatDiesIsNamedWithWhatItSaid) {
  const ProgramRun run = start(
      // As ssh ends its lines.
      hosts_.script("dies",
                    "printf 'ssh: connect to host %s: No route to host\\r\\n' $1 >&2; exit 255"));
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("host b (rank 1) is lost, as its remote shell exited with status "
                                 "255; last lines from there:\n"
                                 "  ssh: connect to host b: No route to host\n"));
  EXPECT_LT(seconds_, 5);
  expectNothingStarted();
}

TEST_F(HostsFailuresTest, ARemoteShellThatCannotBeRunIsNamed) {
  const ProgramRun run = start("/no/such/ssh -x");
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("/no/such/ssh"));
  expectNothingStarted();
}

TEST_F(HostsFailuresTest, WordsBeforeTheAgentsOwnDoNoHarm) {
  const ProgramRun run =
      start(hosts_.script("talks", "echo Welcome to $1; echo motd >&2; exec /bin/sh -c \"$2\""));
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("[host b] Welcome to b\n"), HasSubstr("[host b] motd\n"),
                             HasSubstr("[rank 1] started\n")));
}

TEST_F(HostsFailuresTest, HostsOfTwoVersionsAreRefusedWithBoth) {
  const ProgramRun run = start(hosts_.script(
      "older", "/bin/sh -c \"$2\" | sed -u 's/\"version\":\"[^\"]*\"/\"version\":\"0.0.1\"/'"));
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err,
              ContainsRegex("pipe-run: host b has pipe-run 0\\.0\\.1 \\(protocol [0-9]+\\), "
                            "and this host has pipe-run [0-9]+\\.[0-9]+\\.[0-9]+ "));
  expectNothingStarted();
}

TEST_F(HostsFailuresTest, AProgramThatIsMissingOnOneHostIsNamedBeforeAnythingStarts) {
  const std::string onlyHere =
      hosts_.script("only-here", "echo ran >> \"" + hosts_.path("ran") + "\"");
  std::vector<std::string> arguments = hosts_.arguments(
      MadeUpHosts::here() + ",b",
      hosts_.script("other-path", "PATH=/usr/bin:/bin exec /bin/sh -c \"$2\""), "");
  arguments.resize(arguments.size() - 3);
  arguments.emplace_back("only-here");
  ProgramSetting setting;
  setting.inChild = [&] {
    const std::string path = std::filesystem::path(onlyHere).parent_path().string();
    setenv("PATH", (path + ":/usr/bin:/bin").c_str(), 1);
  };
  const ProgramRun run = hosts_.run(arguments, setting);
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("host b: cannot run only-here: No such file or directory"));
  EXPECT_FALSE(std::filesystem::exists(hosts_.path("ran")));
  expectNothingStarted();
}

TEST_F(HostsFailuresTest, AConnectionThatIsLostInStepFiveEndsTheRunOnAllHosts) {
  ProgramSetting setting;
  setting.meanwhile = [&](int) {
    if (!waitUntil([&] { return trains(0) && trains(1); })) return;
    kill(-std::stoi(hosts_.cable()), SIGKILL);
  };
  const ProgramRun run = hosts_.run(
      hosts_.arguments(MadeUpHosts::here() + ",b", hosts_.shellWithCable(), kSteps), setting);
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("pipe-run: host b (rank 1) is lost, as its remote shell was "
                                       "killed by signal 9 (SIGKILL)"),
                             HasSubstr("warning: the logs of rank 1 may lack their end; host b has "
                                       "its own in /")));
  EXPECT_THAT(hosts_.logOf(1), HasSubstr("step 5\n"));
  EXPECT_TRUE(hosts_.endWithin(12)) << hosts_.processes();
  EXPECT_THAT(run.err, HasSubstr(hosts_.agentFolder() + "\n"));
  const std::string there = test::fileText(hosts_.agentFolder() + "/workerlog.1");
  EXPECT_TRUE(there.starts_with(hosts_.logOf(1)));
  EXPECT_GE(there.size(), hosts_.logOf(1).size()) << "the other host has the rest";
}

TEST_F(HostsFailuresTest, AConnectionThatFallsSilentEndsTheRunOnBothSides) {
  int group = 0;
  Clock::time_point begin;
  double ended = 0;
  ProgramSetting setting;
  setting.meanwhile = [&](int) {
    if (!waitUntil([&] { return trains(0) && trains(1); })) return;
    group = std::stoi(hosts_.cable());
    begin = Clock::now();
    kill(-group, SIGSTOP);
  };
  const ProgramRun run = hosts_.run(
      hosts_.arguments(MadeUpHosts::here() + ",b", hosts_.shellWithCable(), kSteps), setting);
  ended = secondsSince(begin);
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err,
              ContainsRegex("pipe-run: host b \\(rank 1\\) has not been heard of for 5\\.[0-9] s"));
  EXPECT_GT(ended, 5);
  EXPECT_LT(ended, 25);
  EXPECT_THAT(hosts_.logOf(1), HasSubstr("step 5\n"));
  EXPECT_TRUE(hosts_.endWithin(12)) << hosts_.processes();
}

TEST_F(HostsFailuresTest, AShortPauseOfPipeRunEndsNothing) {
  ProgramSetting setting;
  setting.meanwhile = [&](int pid) {
    waitUntil([&] { return trains(0); });
    kill(pid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    kill(pid, SIGCONT);
  };
  const ProgramRun run = hosts_.run(
      hosts_.arguments("b", hosts_.plainShell(),
                       "i=0; while [ $i -lt 40 ]; do echo step $i; i=$((i+1)); sleep 0.1; done"),
      setting);
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(hosts_.logOf(0), HasSubstr("step 39\n"));
}

TEST_F(HostsFailuresTest, NothingIsLeftAfterPipeRunIsKilled) {
  ProgramSetting setting;
  setting.meanwhile = [&](int pid) {
    waitUntil([&] { return trains(0) && trains(1) && trains(2); });
    kill(pid, SIGKILL);
  };
  const std::string own = MadeUpHosts::here();
  const ProgramRun run =
      hosts_.run(hosts_.arguments("b,b,c", hosts_.plainShell(), kSteps), setting);
  EXPECT_EQ(run.signal, SIGKILL);
  EXPECT_TRUE(hosts_.endWithin(12)) << hosts_.processes();
}

TEST_F(HostsFailuresTest, RanksDieWithTheirAgent) {
  ProgramSetting setting;
  setting.meanwhile = [&](int) {
    if (!waitUntil([&] { return trains(0) && trains(1); })) return;
    // The remote shell has become the agent.
    const int agent = std::atoi(hosts_.logOf(1).substr(6).c_str());
    kill(agent, SIGKILL);
  };
  const ProgramRun run = hosts_.run(
      hosts_.arguments(
          MadeUpHosts::here() + ",b", hosts_.plainShell(),
          "echo agent $PPID; i=0; while :; do echo step $i; i=$((i+1)); sleep 0.1; done"),
      setting);
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, ContainsRegex("host b \\(rank 1\\) is lost, as its remote shell "
                                     "(exited with status 137|was killed by signal 9)"));
  EXPECT_TRUE(hosts_.endWithin(5)) << hosts_.processes();
}

TEST_F(HostsFailuresTest, CtrlCReachesRanksOnAllHostsOnce) {
  ProgramSetting setting;
  setting.meanwhile = [&](int pid) {
    waitUntil([&] { return hosts_.logOf(0) == "ready\n" && hosts_.logOf(1) == "ready\n"; });
    kill(pid, SIGINT);
  };
  const ProgramRun run = hosts_.run(
      hosts_.arguments(MadeUpHosts::here() + ",b", hosts_.plainShell(),
                       "n=0; trap 'n=$((n+1))' INT; echo ready; while [ $n = 0 ]; do sleep 0.05; "
                       "done; sleep 0.5; echo saved after $n"),
      setting);
  EXPECT_EQ(run.exitCode, 128 + SIGINT);
  EXPECT_EQ(hosts_.logOf(0), "ready\nsaved after 1\n");
  EXPECT_EQ(hosts_.logOf(1), "ready\nsaved after 1\n");
  EXPECT_TRUE(hosts_.endWithin(5));
}

TEST_F(HostsFailuresTest, ASecondCtrlCKillsRanksThatIgnoreTheFirst) {
  ProgramSetting setting;
  setting.meanwhile = [&](int pid) {
    waitUntil([&] { return hosts_.logOf(0) == "ready\n"; });
    kill(pid, SIGINT);
    waitUntil([&] { return hosts_.logOf(0) == "ready\nignored\n"; });
    kill(pid, SIGINT);
  };
  const ProgramRun run = hosts_.run(
      hosts_.arguments("b", hosts_.plainShell(),
                       "trap 'echo ignored' INT; echo ready; while :; do sleep 0.05; done"),
      setting);
  EXPECT_EQ(run.exitCode, 128 + SIGINT);
  EXPECT_TRUE(hosts_.endWithin(5));
}

TEST_F(HostsFailuresTest, CtrlCAtEveryMomentOfTheStartEndsItAndLeavesNothing) {
  // The start takes half a second and more; it is made slower in two places.
  const std::string slow = hosts_.script("slow", "sleep 0.1; exec /bin/sh -c \"$2\"");
  const std::vector<std::string> arguments = hosts_.arguments(
      MadeUpHosts::here() + ",b,c", slow, "sleep 0.1; echo started; exec sleep 1000");
  double whole = 0;  // seconds until ranks run
  int beforeRanks = 0;
  int withRanks = 0;
  constexpr int kMoments = 24;
  for (int i = -1; i < kMoments; ++i) {
    std::error_code ignored;
    std::filesystem::remove_all(hosts_.path("logs"), ignored);
    Clock::time_point begin;
    ProgramSetting setting;
    setting.meanwhile = [&](int pid) {
      // Before that there is no pipe-run yet.
      waitUntil([&] {
        return test::fileText("/proc/" + std::to_string(pid) + "/cmdline").find("--hosts") !=
               std::string::npos;
      });
      begin = Clock::now();
      if (i < 0) {
        waitUntil([&] { return hosts_.logOf(2) == "started\n"; });
        whole = secondsSince(begin);
      } else {
        std::this_thread::sleep_for(std::chrono::duration<double>(whole * 1.2 * i / kMoments));
        // A busy machine may take longer than it did the first time.
        if (i >= kMoments - 3) {
          waitUntil([&] { return std::filesystem::exists(hosts_.path("logs/workerlog.1")); });
        }
      }
      begin = Clock::now();
      kill(pid, SIGINT);
    };
    const ProgramRun run = hosts_.run(arguments, setting);
    EXPECT_TRUE(run.signal == SIGINT || run.exitCode == 128 + SIGINT)
        << i << ": " << run.exitCode << run.err;
    EXPECT_LT(secondsSince(begin), 8) << i;
    EXPECT_TRUE(hosts_.endWithin(3)) << i << ": " << hosts_.processes();
    EXPECT_EQ(hosts_.agentFolder(), "") << i;
    ++(std::filesystem::exists(hosts_.path("logs/workerlog.1")) ? withRanks : beforeRanks);
  }
  EXPECT_GT(beforeRanks, 2);
  EXPECT_GT(withRanks, 2);
}

}  // namespace
}  // namespace pipetrace
