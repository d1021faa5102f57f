// Ranks on several hosts: what they find there, what comes home, and how a run ends. The other
// hosts are made up (made_up_hosts.h); tests/pipe_run/four_hosts.py has real networks.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "parser/ring/recorder_state.h"
#include "tests/pipe_run/made_up_hosts.h"
#include "trace/sockets/tcp.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

TEST(HostsTest, RanksFindTheirPlaceInTheRunAndOnTheirHost) {
  const MadeUpHosts hosts;
  const ProgramRun run = hosts.run(hosts.arguments(
      hosts.here() + ":1,b:7,b:2," + hosts.here() + ":0", hosts.plainShell(),
      "echo place $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $CUDA_VISIBLE_DEVICES "
      "${OMP_NUM_THREADS:-all} $MASTER_ADDR $MASTER_PORT; echo $PIPETRACE_LOG_DIR; pwd"));
  ASSERT_EQ(run.exitCode, 0) << run.err;
  const std::string master = hosts.logOf(0).substr(std::string("place 0 0 4 2 1,0 1 ").size());
  const std::string address = master.substr(0, master.find('\n') + 1);
  EXPECT_TRUE(isAddress(address.substr(0, address.find(' ')))) << address;
  const std::string cwd = std::filesystem::current_path().string() + "\n";
  for (const auto& [rank, place] : {std::pair{0, "0 0 4 2 1,0"}, std::pair{1, "1 0 4 2 7,2"},
                                    std::pair{2, "2 1 4 2 7,2"}, std::pair{3, "3 1 4 2 1,0"}}) {
    EXPECT_THAT(
        hosts.logOf(rank),
        AllOf(StartsWith("place " + std::string(place) + " 1 " + address), testing::EndsWith(cwd)));
  }
  EXPECT_THAT(hosts.logOf(0), HasSubstr("\n" + hosts.path("logs") + "\n"));
  const std::string there = hosts.logOf(1).substr(hosts.logOf(1).find('\n') + 1);
  const std::string folder = there.substr(0, there.find('\n'));
  EXPECT_NE(folder, hosts.path("logs"));
  EXPECT_FALSE(std::filesystem::exists(folder)) << "all has come home: " << folder;
  EXPECT_TRUE(hosts.endWithin(5));
}

TEST(HostsTest, HostsThatAreAllThisOneNeedNoOther) {
  const MadeUpHosts hosts;
  const ProgramRun run = hosts.run(hosts.arguments(
      "localhost:1,127.0.0.1:1", "/no/such/ssh",
      "echo $RANK $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $CUDA_VISIBLE_DEVICES"));
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(hosts.logOf(0), "0 0 2 127.0.0.1 1\n");
  EXPECT_EQ(hosts.logOf(1), "1 1 2 127.0.0.1 1\n");
  const ProgramRun mixed =
      hosts.run(hosts.arguments("localhost:0,b:0", hosts.plainShell(), "echo never"));
  EXPECT_EQ(mixed.exitCode, 2);
  EXPECT_THAT(mixed.err, HasSubstr("localhost is another host on every host; beside b"));
}

TEST(HostsTest, OptionsThatContradictEachOtherAreRefused) {
  const MadeUpHosts hosts;
  for (const auto& [options, what] :
       {std::pair{std::vector<std::string>{"--hosts", "b:0,b:1", "--ranks", "3"},
                  "--ranks 3 contradicts --hosts, which names 2"},
        std::pair{std::vector<std::string>{"--prefix", "x", "--ranks", "3"}, "give --hosts"},
        std::pair{std::vector<std::string>{"--hosts", "b:0,b:x"}, "\"b:x\" is no HOST:GPU"}}) {
    std::vector<std::string> arguments = options;
    arguments.insert(arguments.end(), {"--", "/bin/true"});
    const ProgramRun run = hosts.run(arguments);
    EXPECT_EQ(run.exitCode, 2);
    EXPECT_THAT(run.err, HasSubstr(what));
  }
}

TEST(HostsTest, OutputComesHomeIntoTheRanksFileAndIsShownWithoutTheJobLog) {
  const MadeUpHosts hosts;
  const ProgramRun run = hosts.run(hosts.arguments(
      "b:0,c:0", hosts.plainShell(),
      "echo out $RANK; echo err $RANK >&2; "
      "echo 'Profiler Info: Job (1), of the job log' >> $PIPETRACE_LOG_DIR/workerlog.$RANK; "
      "printf 'no newline'"));
  ASSERT_EQ(run.exitCode, 0) << run.err;
  for (const char* rank : {"0", "1"}) {
    EXPECT_THAT(hosts.logOf(std::atoi(rank)),
                AllOf(HasSubstr("out " + std::string(rank) + "\n"),
                      HasSubstr("err " + std::string(rank) + "\n"),
                      HasSubstr("Profiler Info: Job (1)"), HasSubstr("no newline\n")));
    const std::string prefix = "[rank " + std::string(rank) + "] ";
    EXPECT_THAT(run.out, AllOf(HasSubstr(prefix + "out " + rank + "\n"),
                               HasSubstr(prefix + "err " + rank + "\n"),
                               HasSubstr(prefix + "no newline\n"), Not(HasSubstr("Profiler"))));
  }
}

TEST(HostsTest, AFloodOfOutputComesHomeWhole) {
  const MadeUpHosts hosts;
  ProgramSetting setting;
  setting.outFile = "/dev/null";
  const ProgramRun run =
      hosts.run(hosts.arguments("b:0", hosts.plainShell(), "seq 1 500000"), setting);
  ASSERT_EQ(run.exitCode, 0) << run.err;
  std::string expected;
  for (int i = 1; i <= 500'000; ++i) expected += std::to_string(i) + '\n';
  EXPECT_TRUE(hosts.logOf(0) == expected);
}

TEST(HostsTest, RanksDoNotWaitForADisplayThatNobodyReads) {
  const MadeUpHosts hosts;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ProgramSetting setting;
  setting.inChild = [&] { dup2(ends[1], STDOUT_FILENO); };
  bool haveEnded = false;
  std::string atHome;
  setting.meanwhile = [&](int) {
    haveEnded = waitUntil([&] { return std::filesystem::exists(hosts.path("ended")); });
    waitUntil([&] { return hosts.logOf(0).size() > 1'000'000; }, 5);
    atHome = hosts.logOf(0);
    close(ends[0]);
  };
  const ProgramRun run =
      hosts.run(hosts.arguments("b:0", hosts.plainShell(),
                                "seq 1 300000; echo > \"" + hosts.path("ended") + "\""),
                setting);
  close(ends[1]);
  EXPECT_TRUE(haveEnded);
  EXPECT_THAT(atHome, StartsWith("1\n2\n3\n"));
  EXPECT_GT(atHome.size(), 1'000'000U) << "the file at home has it all the same";
  EXPECT_EQ(run.exitCode, 0);
}

TEST(HostsTest, TheRingFileOfAnotherHostComesHomeAndNothingElse) {
  const MadeUpHosts hosts;
  const ProgramRun run = hosts.run(hosts.arguments(
      "b:0", hosts.plainShell(),
      "cd $PIPETRACE_LOG_DIR; head -c 700000 /dev/zero > workerlog.0.12.ring; echo > other.ring; "
      "mkdir -p x; exit 3"));
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_EQ(std::filesystem::file_size(hosts.path("logs/workerlog.0.12.ring")), 700'000U);
  EXPECT_FALSE(std::filesystem::exists(hosts.path("logs/other.ring")));
  const std::string there = hosts.agentFolder();
  EXPECT_THAT(run.err, AllOf(HasSubstr("warning: host b: the ranks have left " + there +
                                       "/other.ring, which stays there\n"),
                             HasSubstr("left " + there + "/x, which")));
  EXPECT_FALSE(std::filesystem::exists(there + "/workerlog.0.12.ring")) << "it has come home";
  EXPECT_TRUE(std::filesystem::exists(there + "/other.ring"));
}

TEST(HostsTest, TheLogAtHomeIsLockedWhileItGrowsAsByARecorder) {
  const MadeUpHosts hosts;
  ProgramSetting setting;
  auto while_ = RecorderLock::State::kUnknown;
  setting.meanwhile = [&](int) {
    waitUntil([&] { return hosts.logOf(0) == "ready\n"; });
    while_ = RecorderLock::of(hosts.path("logs/workerlog.0"));
    std::ofstream(hosts.path("go")) << "go";
  };
  const ProgramRun run = hosts.run(
      hosts.arguments("b:0", hosts.plainShell(),
                      "echo ready; until [ -e \"" + hosts.path("go") + "\" ]; do sleep 0.05; done"),
      setting);
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(while_, RecorderLock::State::kHeld);
  EXPECT_EQ(RecorderLock::of(hosts.path("logs/workerlog.0")), RecorderLock::State::kFree);
}

TEST(HostsTest, ARankThatFailsOnAnotherHostIsNamedWithItsLastLines) {
  const MadeUpHosts hosts;
  const ProgramRun run = hosts.run(hosts.arguments(
      hosts.here() + ",b,c", hosts.plainShell(),
      "[ $RANK = 1 ] && { echo no such tensor; exit 3; }; trap '' TERM; sleep 1000"));
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("pipe-run: rank 1 exited with status 3 on host b; last lines of "
                                 "its output:\n  no such tensor\n"));
  EXPECT_TRUE(hosts.endWithin(5));
}

TEST(HostsTest, AKilledRankIsTheCauseThoughItsPeersEndBeforeTheWordOfItArrives) {
  const MadeUpHosts hosts;
  const ProgramRun run = hosts.run(hosts.arguments(
      hosts.here() + ",b", hosts.plainShell(),
      "if [ $RANK = 1 ]; then sleep 0.5; kill -9 $$; fi; sleep 0.4; echo peer lost; exit 2"));
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("pipe-run: rank 1 was killed by signal 9 (SIGKILL) on host b"));
  EXPECT_TRUE(hosts.endWithin(5));
}

TEST(HostsTest, ProcessesThatRanksStartedEndOnAllHosts) {
  const MadeUpHosts hosts;
  const ProgramRun run = hosts.run(hosts.arguments(
      hosts.here() + ",b,c", hosts.plainShell(),
      "sleep 1000 & setsid sleep 1000 & [ $RANK = 1 ] && exit 4; trap '' TERM; sleep 1000"));
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_TRUE(hosts.endWithin(5)) << hosts.processes();
}

TEST(HostsTest, ThePathOfEverythingMayHaveSpaces) {
  const MadeUpHosts hosts;
  const std::string program = hosts.path("my program");
  std::ofstream(program) << "#!/bin/sh\necho \"<$0> <$1> <$2>\"; pwd\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string shell = hosts.plainShell();
  const std::string own = hosts.path("pipe-run");
  std::filesystem::copy_file(test::inBuild("bin/pipe-run"), own);
  ProgramSetting setting;
  setting.inChild = [&] {
    if (chdir(hosts.folder().c_str()) != 0) _exit(1);
  };
  const ProgramRun run =
      runProgram({own, "--hosts", hosts.here() + ",b", "--remote-shell", shell, "--log-dir",
                  "my logs", "--", "./my program", "an argument", "$HOME \"it's\""},
                 setting);
  ASSERT_EQ(run.exitCode, 0) << run.err;
  for (const char* rank : {"0", "1"}) {
    EXPECT_EQ(test::fileText(hosts.path("my logs/workerlog." + std::string(rank))),
              "<./my program> <an argument> <$HOME \"it's\">\n" + hosts.folder() + "\n");
  }
}

TEST(HostsTest, APrefixStandsBeforePipeRunOnOtherHosts) {
  const MadeUpHosts hosts;
  const std::string bin =
      std::filesystem::path(test::inBuild("bin/pipe-run")).parent_path().string();
  std::vector<std::string> arguments =
      hosts.arguments("b", hosts.plainShell(), "echo $PIPETRACE_CONTAINER");
  arguments.insert(
      arguments.begin(),
      {"--prefix", "env 'PIPETRACE_CONTAINER=my image' PATH=" + bin + ":/usr/bin:/bin"});
  const ProgramRun run = hosts.run(arguments);
  ASSERT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(hosts.logOf(0), "my image\n");
}

TEST(HostsTest, AGivenMasterAddressIsUsedIfAllReachIt) {
  const MadeUpHosts hosts;
  std::vector<std::string> arguments =
      hosts.arguments("b,c", hosts.plainShell(), "echo $MASTER_ADDR $MASTER_PORT");
  const auto runWith = [&](const std::string& address) {
    std::vector<std::string> all = arguments;
    all.insert(all.begin(), {"--master-addr", address, "--master-port", "29873"});
    return hosts.run(all);
  };
  const ProgramRun unreached = runWith("192.0.2.1");
  EXPECT_EQ(unreached.exitCode, 2);
  EXPECT_THAT(unreached.err, HasSubstr("no address of host b, where rank 0 is, is reached by all "
                                       "(192.0.2.1, port 29873); host c reaches none"));
  EXPECT_FALSE(std::filesystem::exists(hosts.path("logs"))) << "nothing has started";
  EXPECT_THAT(runWith("localhost").err,
              HasSubstr("the master's address localhost is another host on every host"));
  const ProgramRun own = runWith(hosts.here());
  EXPECT_EQ(own.exitCode, 0) << own.err;
  EXPECT_EQ(hosts.logOf(1), hosts.here() + " 29873\n");
}

}  // namespace
}  // namespace pipetrace
