#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <thread>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;

const std::string kJob =
    "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = ";

std::string job(const std::string& begin, const std::string& end) {
  return kJob + begin + ", job_end_time = " + end + "\n";
}

/// A fault in a log costs only its own line. It is reported with that line, and --strict exits with
/// 1.
TEST_F(PipeTrace, EachKindOfBadInputIsReportedAndCostsOnlyItself) {
  const std::string good = job("1000.000000", "1001.000000");
  const std::pair<std::string, const char*> kinds[] = {
      {job("1005.000000", "1004.000000"), "ends before it starts"},
      {job("99999999999999999999999.000000", "1004.000000"), "too large"},
      {job("1002.000000", "1003.0").insert(20, std::string(1, '\0')), "NUL"},
      {"Profiler Info: Job (1), type = \xff\xfe, micro_batch_id = 0, job_start_time = 1002.000000, "
       "job_end_time = 1003.000000\n",
       "UTF-8"},
      {std::string(3 << 20, 'x') + "\n", "longer than 1 MiB"},
      {kJob + "10", "cut off"},
  };
  for (const auto& [bad, what] : kinds) {
    write("workerlog.0", good + bad);
    const ProgramRun result = run({path("workerlog.0"), "--strict", "-o", path("a.json")});
    EXPECT_EQ(result.exitCode, 1) << what;
    // Doubts stand before the figures.
    EXPECT_THAT(result.err + result.out, AllOf(HasSubstr(path("workerlog.0")), HasSubstr(what)));
    EXPECT_THAT(contents(path("a.json")), HasSubstr("\"ts\":0.000,\"dur\":1000.000"));
  }
}

TEST_F(PipeTrace, BinaryJunkIsAnErrorUnderEveryName) {
  std::mt19937 random(7);
  std::string junk;
  for (int i = 0; i < 300'000; ++i) junk += static_cast<char>(random());
  for (const char* magic : {"", "{\"traceEvents\":[", "SQLite format 3", "\n", "\x1f\x8b\x08"}) {
    for (const char* name : {"workerlog.0", "a.json", "a.pftrace", "a.sqlite", "a.json.gz"}) {
      write(name, magic + junk);
      expectError(run({path(name)}), path(name), "");
    }
  }
}

TEST_F(PipeTrace, DamagedProfileAmongLogsIsAFinding) {
  const std::string folder = logs(sample());
  ASSERT_EQ(run({folder, "-o", path("whole.sqlite")}).exitCode, 0);
  write("my logs/cut.sqlite", contents(path("whole.sqlite")).substr(0, 3000));
  const ProgramRun result = run({"info", folder, "--strict", "-q"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, HasSubstr("cut.sqlite"));
  fs::remove(folder + "/cut.sqlite");
  write("my logs/report.json", R"({"loss": [1, 2]})");
  const ProgramRun clean = run({"info", folder, "--strict", "-q"});
  EXPECT_EQ(clean.exitCode, 0) << clean.err;
  EXPECT_THAT(run({"info", folder}).err, HasSubstr("report.json: note: holds no trace"));
}

/// A line as long as the input, in bounded memory.
TEST_F(PipeTrace, AnInputThatIsOneLongLineTakesLittleMemory) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const auto fromPipe = [&] { ::dup2(ends[0], STDIN_FILENO); };
  const auto feed = [&](pid_t) {
    ::close(ends[0]);
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 64; ++i) {
      if (::write(ends[1], piece.data(), piece.size()) < 0) break;
    }
    const std::string last = "\n" + job("1000.000000", "1001.000000");
    EXPECT_EQ(::write(ends[1], last.data(), last.size()), static_cast<ssize_t>(last.size()));
    ::close(ends[1]);
  };
  rusage before{};
  ::getrusage(RUSAGE_CHILDREN, &before);
  const ProgramRun result = run({"-", "--strict"}, {.inChild = fromPipe, .meanwhile = feed});
  rusage after{};
  ::getrusage(RUSAGE_CHILDREN, &after);
  EXPECT_EQ(result.exitCode, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("a line longer than 1 MiB"));
  EXPECT_THAT(result.out, HasSubstr("1 rank, 1 step"));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr long kMost = 48 << 10;  // KiB
  if (before.ru_maxrss < kMost) {
    EXPECT_LT(after.ru_maxrss, kMost);
  }
#endif
}

TEST_F(PipeTrace, AFifoIsReadLikeAStream) {
  const std::string log = contents(logs(sample()) + "/workerlog.2");
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path("fifo")) << log; });
  const ProgramRun result = run({path("fifo"), "--json"});
  writer.join();
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(result.out, run({path("my logs/workerlog.2"), "--json"}).out);
}

TEST_F(PipeTrace, AFifoInAFolderIsAFinding) {
  const std::string folder = logs(sample());
  ASSERT_EQ(::mkfifo((folder + "/workerlog.4").c_str(), 0600), 0);
  const ProgramRun result = run({folder, "--strict"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("workerlog.4"), HasSubstr("no plain file")));
  EXPECT_THAT(result.out, HasSubstr("4 ranks"));
}

/// The pattern `logs/workerlog.*` in a shell may name a FIFO, too.
TEST_F(PipeTrace, AFifoThatIsCalledLikeALogIsRefusedAndNotWaitedFor) {
  fs::create_directory(path("logs"));
  const std::string fifo = path("logs/workerlog.0");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  // A writer ends the wait of a program that does wait.
  const ProgramSetting setting{.meanwhile = [&](pid_t program) {
    siginfo_t ended{};
    for (int i = 0; i < 1000 && ended.si_pid == 0; ++i) {
      ::waitid(P_PID, static_cast<id_t>(program), &ended, WEXITED | WNOHANG | WNOWAIT);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (const int fd = ::open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); fd >= 0)
      ::close(fd);
  }};
  for (const std::vector<std::string>& arguments :
       {std::vector{fifo}, std::vector{fifo, std::string("--pattern"), std::string("x")},
        std::vector<std::string>{"--devices", "0", "--log_dir", path("logs")}}) {
    expectError(run(arguments, setting), fifo + ": it is a FIFO", "pipe-trace - < " + fifo);
  }
}

/// The output is the old file or the whole new one, at whatever moment the program is killed.
TEST_F(PipeTrace, KilledAtAnyMomentTheOutputIsWhole) {
  const std::string folder = logs(sample(20));
  const std::string output = path("out/a.json");
  fs::create_directory(path("out"));
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(run({folder, "-o", output}).exitCode, 0);
  const auto lasted = std::chrono::steady_clock::now() - begin;
  const std::string whole = contents(output);
  constexpr int kKills = 16;
  int killed = 0;
  for (int i = 0; i < kKills; ++i) {
    write("out/a.json", "old");
    const ProgramRun result = run({folder, "-o", output}, {.meanwhile = [&](pid_t program) {
                                    std::this_thread::sleep_for(lasted * (i + 1) / kKills);
                                    ::kill(program, SIGKILL);
                                  }});
    killed += result.signal == SIGKILL ? 1 : 0;
    const std::string now = contents(output);
    EXPECT_TRUE(now == "old" || now == whole) << i << ": " << now.size() << " bytes";
  }
  EXPECT_GT(killed, 0);
}

}  // namespace
}  // namespace pipetrace
