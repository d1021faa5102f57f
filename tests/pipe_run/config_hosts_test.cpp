// Configuration files whose machines are several hosts, from the command line to the logs. The
// other hosts are made up (made_up_hosts.h).
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/pipe_run/made_up_hosts.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ConfigHosts : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(hosts_.path(name)) << text;
    return hosts_.path(name);
  }
  /// A program of the shell. It gets the file as $2, and --dry-run after it.
  void writeProgram(const std::string& text) const {
    std::filesystem::permissions(
        write("program.sh", "#!/bin/sh\n[ \"$3\" = --dry-run ] && exit\n" + text),
        std::filesystem::perms::owner_all);
  }
  ProgramRun run(const std::string& text, std::vector<std::string> options = {},
                 const ProgramSetting& setting = {}) const {
    options.insert(options.begin(), write("run.yml", text));
    return hosts_.run(options, setting);
  }
  std::string logOf(int rank) const { return hosts_.logOf(rank); }
  std::string quoted(const std::string& text) const {
    return "\"" + text + "\"";  // of YAML, as the folder's name has an apostrophe
  }
  std::vector<std::string> there(const std::string& shell) const {
    return {"--remote-shell", shell, "--log-dir", hosts_.path("logs")};
  }
  std::vector<std::string> there() const { return there(hosts_.plainShell()); }

  const MadeUpHosts hosts_;
  const std::string here_ = MadeUpHosts::here();
};

TEST_F(ConfigHosts, RanksOfAFileFindTheirPlaceOnTheMachinesThatItNames) {
  writeProgram(
      "echo place $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $CUDA_VISIBLE_DEVICES; "
      "echo \"<$1> <$2>\"; echo ${PIPETRACE_LOG_DIR%/*}\n");
  const ProgramRun run =
      this->run("directory: program.sh\nmachines: [" + here_ + ":1, b:7, b:2]\n", there());
  ASSERT_EQ(run.exitCode, 0) << run.err;
  const std::string file = "\n<--config> <" + hosts_.path("run.yml") + ">\n";
  EXPECT_THAT(logOf(0), StartsWith("place 0 0 3 1 1" + file + hosts_.folder() + "\n"));
  EXPECT_THAT(logOf(1), StartsWith("place 1 0 3 2 7,2" + file));
  EXPECT_THAT(logOf(2), StartsWith("place 2 1 3 2 7,2" + file));
  EXPECT_THAT(logOf(2), Not(HasSubstr(hosts_.folder() + "\n"))) << "an agent keeps its own";
  EXPECT_THAT(test::fileText(hosts_.path("logs/command_history.log")),
              HasSubstr("b: RANK=2 LOCAL_RANK=1 WORLD_SIZE=3 LOCAL_WORLD_SIZE=2 "
                        "CUDA_VISIBLE_DEVICES=7,2 "));
  EXPECT_TRUE(hosts_.endWithin(5));
}

TEST_F(ConfigHosts, ADryRunShowsRanksAndAgentsOfOtherHostsAndAsksNone) {
  writeProgram("");
  const std::string text = "directory: program.sh\nmachines: [" + here_ + ":0, b:7]\n";
  const ProgramRun run =
      this->run(text, {"--dry-run", "--remote-shell", "/no/such/ssh -q", "--prefix", "enter it"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("  rank 0 on this host, GPU 0\n  rank 1 on b, GPU 7\n"),
                             HasSubstr("  b: RANK=1 LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 "
                                       "CUDA_VISIBLE_DEVICES=7 "),
                             HasSubstr("agents of other hosts:\n"
                                       "  /no/such/ssh -q b 'enter it pipe-run --host-agent'\n")));
}

TEST_F(ConfigHosts, TheCommandInContainerEntersItOnOtherHostsAlone) {
  writeProgram("echo \"in <$PIPETRACE_CONTAINER>\"\n");
  const std::string bin =
      std::filesystem::path(test::inBuild("bin/pipe-run")).parent_path().string();
  const std::string machines = "directory: program.sh\nmachines: [" + here_ + ", b]\n";
  const ProgramRun run = this->run(
      machines + "container: env PIPETRACE_CONTAINER=image PATH=" + bin + ":/usr/bin:/bin\n",
      there());
  ASSERT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(logOf(0), "in <>\n");
  EXPECT_EQ(logOf(1), "in <image>\n");
  const ProgramRun image = this->run(machines + "container: image.sif\n", there());
  EXPECT_EQ(image.exitCode, 2);
  EXPECT_THAT(image.err, StartsWith("pipe-run: " + hosts_.path("run.yml") +
                                    ":3: container: image.sif is one word, and ranks on other "
                                    "hosts need the command that enters it"));
}

TEST_F(ConfigHosts, MachinesThatCannotBeOneRunAreRefusedBeforeAnyHostIsAsked) {
  writeProgram("");
  const std::string place = "pipe-run: " + hosts_.path("run.yml");
  const std::string program = "directory: program.sh\n";
  const std::string two = program + "machines: [" + here_ + ":0, b:0]\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {program + "machines: ['localhost:0', b:0]\n",
       place + ":2: machines: localhost is another host on every host; beside b, give the name"},
      {program + "machines: [b:0, b]\n",
       place + ":2: machines: host b has ranks with a GPU and ranks without one"},
      {program + "machines: ['b:0:1']\n", place + ":2: machines: \"b:0:1\" has several colons"},
      {two + "master_addr: localhost\n",
       place + ":3: master_addr: localhost is another host on every host; leave it out"},
      {program + "machines: ['localhost:0']\nmaster_addr: far.away\n",
       place + ":3: master_addr: far.away is another host, but all ranks are on this one"},
      {two + "stages: 3\n", place + ":2: machines: it names 2 ranks, but the plan 1F1B has 3"}};
  for (const auto& [text, message] : cases) {
    const ProgramRun run = this->run(text, {"--log-dir", hosts_.path("logs")});
    EXPECT_EQ(run.exitCode, 2) << message;
    EXPECT_THAT(run.err, StartsWith(message));
  }
  const ProgramRun other = this->run(two, {"--hosts", "b:0,b:1"});
  EXPECT_THAT(other.err, HasSubstr("the hosts are the machines of " + hosts_.path("run.yml")));
  const ProgramRun none =
      this->run(program + "machines: ['localhost:0']\n", {"--prefix", "enter it"});
  EXPECT_THAT(none.err, HasSubstr("are for other hosts, and " + hosts_.path("run.yml") +
                                  " names "
                                  "none"));
  EXPECT_FALSE(std::filesystem::exists(hosts_.path("logs")));
}

/// A training on this host and on b, whose losses go to a file.
std::string training(const std::string& machines, const std::string& losses) {
  return "machines: [" + machines +
         "]\nsync_mode: bsp\nsteps: 30\nmodel: layers\nlayers: 4\nwidth: 16\nrows: 12\n"
         "micro_batches: 2\npace_ms: 20\nlosses: \"" +
         losses + "\"\n";
}

/// The last step of which `folder` holds a checkpoint, or -1.
int newestStep(const std::string& folder) {
  int newest = -1;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("step_") &&
        std::filesystem::exists(entry.path() / "manifest.json", none)) {
      newest = std::max(newest, std::stoi(name.substr(5)));
    }
  }
  return newest;
}

TEST_F(ConfigHosts, AfterAKilledRankAndALostHostAllStartAgainAndEndWithTheSameLosses) {
  const std::string faulty = test::inBuild("bin/faulty_training");
  const ProgramRun uncut = this->run(
      "directory: " + faulty + "\n" + training("localhost, localhost", hosts_.path("uncut")),
      {"--log-dir", hosts_.path("logs")});
  ASSERT_EQ(uncut.exitCode, 0) << uncut.err;
  // In the first start rank 1 dies in step 5. In the second b's connection is cut when step 8 is
  // saved; how far the ranks get until they are stopped depends on the machine.
  writeProgram(
      "[ -z \"$TORCHELASTIC_RESTART_COUNT\" ] && "
      "export PIPETRACE_FAULT='kill-forward 1 5 0 1'\n"
      "exec " +
      faulty + " \"$@\"\n");
  ProgramSetting setting;
  setting.meanwhile = [&](int) {
    if (waitUntil([&] { return newestStep(hosts_.path("saved")) >= 8; }, 60)) {
      kill(-std::stoi(hosts_.cable()), SIGKILL);
    }
  };
  std::vector<std::string> options = there(hosts_.shellWithCable());
  options.insert(options.end(), {"--restarts", "2"});
  const ProgramRun cut =
      this->run("directory: program.sh\ncheckpoint: \"" + hosts_.path("saved") +
                    "\"\ncheckpoint_every: 2\n" + training(here_ + ", b", hosts_.path("cut")),
                options, setting);
  EXPECT_EQ(cut.exitCode, 0) << cut.err << cut.out;
  EXPECT_THAT(cut.err, AllOf(HasSubstr("rank 1 was killed by signal 9 (SIGKILL) on host b"),
                             HasSubstr("all ranks start again (1 of 2)"),
                             HasSubstr("host b (rank 1) is lost"),
                             HasSubstr("all ranks start again (2 of 2)")));
  EXPECT_THAT(cut.out, ContainsRegex("goes on from step (8|[12][0-9]) of "));
  EXPECT_EQ(cut.out.find("step 0 loss"), cut.out.rfind("step 0 loss")) << "no line is shown twice";
  const std::string last = test::fileText(hosts_.path("cut"));
  EXPECT_NE(last, "");
  EXPECT_TRUE(test::fileText(hosts_.path("uncut")).ends_with(last)) << last;
  EXPECT_TRUE(hosts_.endWithin(12)) << hosts_.processes();
}

}  // namespace
}  // namespace pipetrace
