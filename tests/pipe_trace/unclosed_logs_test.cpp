// Logs of programs that ended without closing them: the messages, and the end of --follow.
#include <fcntl.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/pipe_trace/fixture.h"
#include "trace/log/ring_format.h"

namespace pipetrace {
namespace {

namespace rf = ring_format;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct OpenJob {
  int lane = 0;
  JobKind kind = JobKind::kForward;
  std::int32_t microBatch = 0;
  std::int32_t step = kNotGiven;
};

class GonePrograms : public PipeTrace {
 protected:
  /// Logs of ranks that were killed on that host, with their ring files.
  std::string killedLogs(const std::string& killedOn = hostName(), int ranks = 4) const {
    std::string folder = logs(sample(3, ranks), "killed");
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string name = "workerlog." + std::to_string(rank);
      std::string text = contents(folder + "/" + name);
      text.erase(text.rfind('\n', text.size() - 2) + 1);  // the End line
      const std::string host =
          text.find(", host = ") == std::string::npos ? ", host = \"" + killedOn + "\"" : "";
      text.insert(text.find('\n'), host + ", ring = " + name + ".ring");
      write("killed/" + name, text);
      write("killed/" + name + ".ring", ringWith({}));
    }
    return folder;
  }

  /// Says in which jobs that rank was.
  void leaveOpen(int rank, const std::vector<OpenJob>& jobs) const {
    write("killed/workerlog." + std::to_string(rank) + ".ring", ringWith(jobs));
  }

 private:
  static std::string hostName() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
  }

  /// The ring file of a process that has ended, with three streams and nothing that the log lacks.
  static std::string ringWith(const std::vector<OpenJob>& open) {
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
      rf::Slot slot{};
      for (const OpenJob& job : open) {
        if (job.lane != lanes) continue;
        lane.begun = 1;
        slot.kind = static_cast<decltype(slot.kind)>(job.kind);
        slot.microBatch = job.microBatch;
        slot.step = job.step;
      }
      header.laneOffset[lanes++] = bytes.size();
      const std::size_t end = bytes.size() + rf::laneSize(header.slots);
      bytes.append(reinterpret_cast<const char*>(&lane), sizeof(lane));
      bytes.append(reinterpret_cast<const char*>(&slot), sizeof(slot));
      bytes.resize(end);
    }
    return bytes.replace(0, sizeof(header), reinterpret_cast<const char*>(&header), sizeof(header));
  }
};

TEST_F(GonePrograms, AFindingOfManyRanksIsOneLine) {
  const std::string folder = killedLogs();
  const ProgramRun result = run({folder});
  const std::string warning = folder + "/workerlog.* (ranks 0 to 3): warning: ";
  const std::string end = "no Profiler End line: the program ended without closing its log; ";
  const std::string rest =
      "the records that it had not written are read from its ring file; jobs that were open "
      "are missing, and of a Python program on a CPU those of the step that it was in\n";
  EXPECT_EQ(result.err, warning + end + rest);
  const auto findings = nlohmann::json::parse(run({"info", folder, "--json"}).out)["diagnostics"];
  EXPECT_EQ(findings.size(), 4U) << "one by one";
}

TEST_F(GonePrograms, AFindingOfTwoRanksIsALineForEach) {
  const std::string folder = killedLogs();
  const ProgramRun result = run({folder + "/workerlog.1", folder + "/workerlog.2"});
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("workerlog.1: warning: no Profiler End"),
                    HasSubstr("workerlog.2: warning: no Profiler End"), Not(HasSubstr("*"))));
}

TEST_F(GonePrograms, TheLastJobsOfManyRanksAreListedInOneLine) {
  const std::string folder = killedLogs();
  leaveOpen(0, {{.kind = JobKind::kForward, .microBatch = 2, .step = 3},
                {.lane = 1, .kind = JobKind::kSendForward, .microBatch = 1, .step = 3}});
  leaveOpen(1, {{.kind = JobKind::kBackward, .microBatch = 1, .step = 3}});
  leaveOpen(3, {{.lane = 2, .kind = JobKind::kRecvForward, .microBatch = 4}});
  const ProgramRun result = run({folder});
  EXPECT_THAT(result.err,
              HasSubstr(folder + "/workerlog.*.ring: note: ended in: rank 0 F2 (step 3), "
                                 "rank 1 B1 (step 3), rank 3 recv_forward 4 on recv; "
                                 "pipe-trace info --json lists each\n"));
  EXPECT_THAT(result.err, Not(HasSubstr("the program ended in")));
  const auto findings = nlohmann::json::parse(run({"info", folder, "--json"}).out)["diagnostics"];
  EXPECT_EQ(findings.size(), 8U) << "one by one";
}

TEST_F(GonePrograms, OnlyTheFirstOfVeryManyRanksAreNamed) {
  const std::string folder = killedLogs("another host", 20);
  for (int rank = 0; rank < 20; ++rank) leaveOpen(rank, {{.microBatch = rank}});
  const ProgramRun result = run({folder});
  EXPECT_THAT(result.err, HasSubstr("ended in, unless they still run: rank 0 F0, rank 1 F1, "));
  EXPECT_THAT(result.err,
              HasSubstr(", rank 15 F15 and 4 more; pipe-trace info --json lists each\n"));
}

TEST_F(GonePrograms, OpenJobsOfOneRankAreALineEach) {
  const std::string folder = killedLogs();
  leaveOpen(2, {{.microBatch = 3, .step = 5},
                {.lane = 1, .kind = JobKind::kSendForward, .microBatch = 1},
                {.lane = 2, .kind = JobKind::kRecvForward, .microBatch = 4}});
  const ProgramRun result = run({folder});
  const std::string ring = folder + "/workerlog.2.ring: note: the program ended in ";
  EXPECT_THAT(result.err,
              AllOf(HasSubstr(ring + "forward of micro-batch 3 on stream compute in step 5, begun"),
                    HasSubstr(ring + "send_forward of micro-batch 1 on stream send, begun"),
                    HasSubstr(ring + "recv_forward of micro-batch 4 on stream recv, begun"),
                    Not(HasSubstr("*.ring"))));
}

TEST_F(GonePrograms, FollowingThemEndsAndSaysSo) {
  const std::string folder = killedLogs();
  const ProgramRun result = run({folder, "--follow", "-o", path("live.json"), "--strict"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err,
              HasSubstr("(ranks 0 to 3): warning: no Profiler End line: the program ended "
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

TEST_F(GonePrograms, RanksOfAnotherHostWhoseEndCannotBeSeenAreNamedOnce) {
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
    EXPECT_TRUE(await("(ranks 0 to 2)"));
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
      ": this host cannot see whether they are still written; following until they are closed, or "
      "Ctrl-C\n";
  EXPECT_EQ(contents(errors),
            "pipe-trace: waiting for rank 3\n"
            "pipe-trace: logs of another host (ranks 0 to 2)" +
                rest + "pipe-trace: logs of another host (rank 3)" + rest);
}

}  // namespace
}  // namespace pipetrace
