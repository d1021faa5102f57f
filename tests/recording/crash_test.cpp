// Programs that record at full speed and die; checks the log and the ring file afterwards.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>
#include <set>
#include <thread>

#include "parser/testing/load_timeline.h"
#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"
#include "tests/recording/numbered_jobs.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Counts of the child's calls, in memory that the parent shares.
struct Progress {
  std::array<std::atomic<std::int64_t>, kMostLanes> begun;
};

/// The way in which a child records before its end.
struct Load {
  std::int64_t jobs = 0;     ///< on each lane
  int lanes = 3;             ///< a thread each
  int jobsEvery10Ms = 0;     ///< on each lane; 0: as many as there can be
  void (*last)() = nullptr;  ///< its end
};

void record(Recorder& recorder, StreamId stream, Progress& progress, const Load& load) {
  for (std::int64_t n = 0; n < load.jobs; ++n) {
    if (load.jobsEvery10Ms > 0 && n % load.jobsEvery10Ms == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    progress.begun[static_cast<std::size_t>(stream)].store(n + 1, std::memory_order_relaxed);
    recorder.begin(stream, jobOf(stream, n));
    recorder.end(stream);
    if (stream == 0 && n % 1000 == 999) recorder.endStep(static_cast<std::int32_t>(n / 1000));
  }
}

[[noreturn]] void child(const std::string& folder, Progress& progress, const Load& load) {
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  RecorderOptions options;
  options.logDirectory = folder;
  auto* const recorder = new Recorder(options);  // never closed
  for (int lane = 0; lane < load.lanes; ++lane) {
    recorder->addStream(kNames[static_cast<std::size_t>(lane)], std::make_unique<CpuStream>());
  }
  std::vector<std::thread> threads;
  for (StreamId stream = 1; stream < load.lanes; ++stream) {
    threads.emplace_back([&, stream] { record(*recorder, stream, progress, load); });
  }
  record(*recorder, 0, progress, load);
  for (std::thread& thread : threads) thread.join();
  load.last();
  _exit(0);
}

class Crash {
 public:
  Crash()
      : progress(new (mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Progress()) {}
  ~Crash() { munmap(progress, sizeof(Progress)); }
  Crash(const Crash&) = delete;
  Crash& operator=(const Crash&) = delete;

  void start(const Load& load) {
    lanes = load.lanes;
    pid_ = fork();
    if (pid_ == 0) child(log.folder(), *progress, load);
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  /// The signal that ended it; 0: none.
  int wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  void awaitBegun(std::int64_t jobs) const {
    while (progress->begun[0] < jobs) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

  RecordedLog log;
  Progress* const progress;
  int lanes = 0;

 private:
  pid_t pid_ = 0;
};

struct Recovered {
  std::int64_t jobs = 0;
  std::int64_t dropped = 0;
};

/// Reads the files that are left, and checks that no job is there twice, is wrong, or was never
/// recorded.
void check(const Crash& crash, Recovered& recovered) {
  Diagnostics diagnostics;
  const Timeline timeline = test::loadTimeline({crash.log.folder()}, {}, diagnostics);
  std::int64_t missing = 0;
  for (int lane = 0; lane < crash.lanes; ++lane) {
    const std::int64_t begun = crash.progress->begun[static_cast<std::size_t>(lane)];
    const Track* const track = timeline.findTrack(0, kNames[static_cast<std::size_t>(lane)]);
    missing += begun;
    if (track == nullptr) continue;
    std::int64_t before = -1;
    Nanoseconds lastEnd = kNsMin;
    for (const Event& event : track->events) {
      ASSERT_GT(event.job, before) << "twice, or not in the order in which they were";
      ASSERT_LT(event.job, begun);
      ASSERT_GE(event.begin, lastEnd) << event.job;
      before = event.job;
      lastEnd = event.end;
      ASSERT_NO_FATAL_FAILURE(expectJob(timeline, lane, event));
    }
    recovered.jobs += static_cast<std::int64_t>(track->events.size());
  }
  const std::int64_t dropped = timeline.ranks.at(0).dropped;
  recovered.dropped += dropped;
  missing -= recovered.jobs + dropped;
  ASSERT_GE(missing, 0);
  ASSERT_LE(missing, crash.lanes) << "recovered + dropped + at most one a stream = begun";
}

int kills() {
  const char* const many = std::getenv("PIPETRACE_KILLS");
  if (many != nullptr) return std::atoi(many);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 6;
#else
  return 20;
#endif
}

TEST(CrashTest, AKillAtFullSpeedLosesOnlyOpenAndCountedJobs) {
  std::int64_t jobs = 0;
  std::int64_t dropped = 0;
  const bool all = std::getenv("PIPETRACE_KILLS") != nullptr;
  for (int i = 0; i < kills(); ++i) {
    Crash crash;
    crash.start({.jobs = 1'000'000, .last = [] { pause(); }});
    // Somewhere on the way, from the first jobs to the last but one.
    crash.awaitBegun(2 + (all ? 990'000 : 150'000) * i / kills());
    crash.kill();
    ASSERT_EQ(crash.wait(), SIGKILL);
    Recovered recovered;
    ASSERT_NO_FATAL_FAILURE(check(crash, recovered)) << "kill " << i;
    jobs += recovered.jobs;
    dropped += recovered.dropped;
  }
  RecordProperty("recovered", std::to_string(jobs));
  RecordProperty("dropped", std::to_string(dropped));
  if (all) std::printf("%d kills: %ld jobs recovered, %ld dropped\n", kills(), jobs, dropped);
  EXPECT_GT(jobs, 0);
}

TEST(CrashTest, AKillAtAHundredThousandJobsASecondOnEightThreadsDropsNothing) {
  Crash crash;
  crash.start({.jobs = 1'000'000, .lanes = 8, .jobsEvery10Ms = 125, .last = [] { pause(); }});
  crash.awaitBegun(18'000);  // more than a ring holds
  crash.kill();
  ASSERT_EQ(crash.wait(), SIGKILL);
  Recovered recovered;
  ASSERT_NO_FATAL_FAILURE(check(crash, recovered));
  EXPECT_EQ(recovered.dropped, 0);
  EXPECT_GT(recovered.jobs, 8 * 10'000);
}

TEST(CrashTest, ASegmentationFaultLosesNothing) {
  Crash crash;
  crash.start({.jobs = 2000, .last = [] {
                 std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn it into an exit
                 std::raise(SIGSEGV);
               }});
  ASSERT_EQ(crash.wait(), SIGSEGV);
  Recovered recovered;
  check(crash, recovered);
  EXPECT_EQ(recovered.jobs, crash.lanes * 2000);
}

TEST(CrashTest, AbortLosesNothing) {
  Crash crash;
  crash.start({.jobs = 2000, .last = [] { std::abort(); }});
  ASSERT_EQ(crash.wait(), SIGABRT);
  Recovered recovered;
  check(crash, recovered);
  EXPECT_EQ(recovered.jobs, crash.lanes * 2000);
}

TEST(CrashTest, AProgramThatForgetsToCloseLosesNothing) {
  Crash crash;
  crash.start({.jobs = 2000, .last = [] { std::_Exit(0); }});
  ASSERT_EQ(crash.wait(), 0);
  Recovered recovered;
  check(crash, recovered);
  EXPECT_EQ(recovered.jobs, crash.lanes * 2000);
}

}  // namespace
}  // namespace pipetrace
