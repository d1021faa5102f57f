// What is said, and when --follow ends, where programs have ended without closing their logs.
#include <fcntl.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>

#include "apps/pipe_trace_fixture.h"
#include "trace/ring_format.h"

namespace pipetrace {
namespace {

namespace rf = ring_format;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class GonePrograms : public PipeTrace {
 protected:
  /// Logs of four ranks that were killed on that host, with their ring files.
  std::string killedLogs(const std::string& killedOn = hostName()) const {
    std::string folder = logs(sample(3), "killed");
    for (int rank = 0; rank < 4; ++rank) {
      const std::string name = "workerlog." + std::to_string(rank);
      std::string text = contents(folder + "/" + name);
      text.erase(text.rfind('\n', text.size() - 2) + 1);  // the End line
      const std::string host =
          text.find(", host = ") == std::string::npos ? ", host = \"" + killedOn + "\"" : "";
      text.insert(text.find('\n'), host + ", ring = " + name + ".ring");
      write("killed/" + name, text);
      write("killed/" + name + ".ring", emptyRing());
    }
    return folder;
  }

 private:
  static std::string hostName() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
  }

  /// Of a process that was there, with its compute stream and nothing that is not in the log.
  static std::string emptyRing() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    rf::FileHeader header{};
    header.magic = rf::kMagic;
    rf::describeLayout(header, 64);
    header.pid = child;
    std::string bytes(rf::kFrontSize, '\0');
    int lanes = 0;
    for (const char* const name : {"compute", "send", "recv"}) {
      rf::LaneHeader lane{};
      std::string_view(name).copy(lane.name.data(), lane.name.size() - 1);
      lane.isCompute = lanes == 0 ? 1 : 0;
      header.laneOffset[lanes++] = bytes.size();
      bytes.append(reinterpret_cast<const char*>(&lane), sizeof(lane));
      bytes.resize(bytes.size() + rf::laneSize(header.slots) - sizeof(lane));
    }
    return bytes.replace(0, sizeof(header), reinterpret_cast<const char*>(&header), sizeof(header));
  }
};

TEST_F(GonePrograms, WhatManyRanksHaveInCommonIsToldOnce) {
  const std::string folder = killedLogs();
  const ProgramRun result = run({folder});
  EXPECT_EQ(result.err, folder +
                            "/workerlog.* (ranks 0, 1, 2, 3): warning: no Profiler End line: the "
                            "program ended without closing its log; what it had recorded and not "
                            "written is read from its ring file; only jobs that were open are "
                            "missing\n");
  const auto told = nlohmann::json::parse(run({"info", folder, "--json"}).out)["diagnostics"];
  EXPECT_EQ(told.size(), 4U) << "one by one";
}

TEST_F(GonePrograms, WhatTwoRanksTellIsToldOfEach) {
  const std::string folder = killedLogs();
  const ProgramRun result = run({folder + "/workerlog.1", folder + "/workerlog.2"});
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("workerlog.1: warning: no Profiler End"),
                    HasSubstr("workerlog.2: warning: no Profiler End"), Not(HasSubstr("*"))));
}

TEST_F(GonePrograms, FollowingThemEndsAndSaysSo) {
  const std::string folder = killedLogs();
  const ProgramRun result = run({folder, "--follow", "-o", path("live.json"), "--strict"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err,
              HasSubstr("(ranks 0, 1, 2, 3): warning: no Profiler End line: the program ended "
                        "without closing its log; convert the logs again, without --follow"));
  EXPECT_THAT(result.out, HasSubstr("216 jobs"));
  EXPECT_TRUE(nlohmann::json::accept(contents(path("live.json"))));
}

TEST_F(GonePrograms, FollowingThemEndsAlsoWhereRanksNeverBegan) {
  const std::string folder = killedLogs();
  std::filesystem::remove(folder + "/workerlog.3");
  const ProgramRun result = run({folder, "--follow", "-o", path("live.json"), "-q"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_TRUE(nlohmann::json::accept(contents(path("live.json"))));
}

TEST_F(GonePrograms, ThatTheirEndCannotBeSeenFromAnotherHostIsToldOfEachOnce) {
  const std::string folder = killedLogs("another host");
  std::filesystem::rename(folder + "/workerlog.3", path("late"));
  write("err", "");
  const std::string errors = path("err");
  const auto await = [&](const std::string& text) {
    for (int tries = 0; tries < 60'000; ++tries) {
      if (contents(errors).find(text) != std::string::npos) return true;
      ::usleep(1000);
    }
    return false;
  };
  const auto meanwhile = [&](pid_t program) {
    EXPECT_TRUE(await("(ranks 0, 1, 2)"));
    std::filesystem::rename(path("late"), folder + "/workerlog.3");
    EXPECT_TRUE(await("(rank 3)"));
    ::kill(program, SIGINT);
  };
  const auto errorsToFile = [&] {
    ::dup2(::open(errors.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
  };
  const ProgramRun result = run({folder, "--follow", "-o", path("live.json")},
                                {.inChild = errorsToFile, .meanwhile = meanwhile});
  EXPECT_EQ(result.exitCode, 0);
  const std::string rest =
      ": whether they are still written cannot be told from here; following until they are closed, "
      "or Ctrl-C\n";
  EXPECT_EQ(contents(errors),
            "pipe-trace: waiting for rank 3\n"
            "pipe-trace: logs of another host (ranks 0, 1, 2)" +
                rest + "pipe-trace: logs of another host (rank 3)" + rest);
}

}  // namespace
}  // namespace pipetrace
