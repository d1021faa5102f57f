// Logs and ring files that are read while their program records: each job that had ended is there
// once, and as it was.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "parser/testing/load_timeline.h"
#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/environment.h"
#include "profiler/testing/recorded_log.h"
#include "tests/recording/numbered_jobs.h"

namespace pipetrace {
namespace {

constexpr int kLanes = 3;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t kMost = 4000;  // reading takes long there
#else
constexpr std::int64_t kMost = 80'000;
#endif
/// How a program records.
struct RecordedLoad {
  std::size_t ringSlots = 0;
  std::int64_t pauseEvery = 0;  ///< jobs between pauses in which the log thread catches up; 0: none
  std::int64_t most = 0;        ///< jobs of a stream
};

using Counts = std::array<std::atomic<std::int64_t>, kLanes>;

void record(Recorder& recorder, StreamId stream, const RecordedLoad& load, Counts& ended,
            const std::atomic<bool>& stop) {
  for (std::int64_t n = 0; !stop && n < load.most; ++n) {
    if (load.pauseEvery > 0 && n % load.pauseEvery == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    recorder.begin(stream, jobOf(stream, n));
    recorder.end(stream);
    ended[static_cast<std::size_t>(stream)].store(n + 1, std::memory_order_release);
    if (stream == 0 && n % 1000 == 999) recorder.endStep(static_cast<std::int32_t>(n / 1000));
  }
}

/// Looks at every job that is read now.
void readOnce(const std::string& folder, const Counts& ended) {
  std::array<std::int64_t, kLanes> before{};
  for (std::size_t i = 0; i < kLanes; ++i) before[i] = ended[i].load(std::memory_order_acquire);
  Diagnostics diagnostics;
  const Timeline timeline = test::loadTimeline({folder}, {}, diagnostics);
  std::int64_t missing = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const Track* const track = timeline.findTrack(0, kNames[static_cast<std::size_t>(lane)]);
    ASSERT_NE(track, nullptr);
    std::int64_t last = -1;
    Nanoseconds lastEnd = kNsMin;
    missing += before[static_cast<std::size_t>(lane)];
    for (const Event& event : track->events) {
      ASSERT_GT(event.job, last) << "twice, or not in the order in which they were";
      ASSERT_GE(event.begin, lastEnd) << event.job;
      ASSERT_NO_FATAL_FAILURE(expectJob(timeline, lane, event));
      last = event.job;
      lastEnd = event.end;
      if (event.job < before[static_cast<std::size_t>(lane)]) --missing;
    }
  }
  ASSERT_LE(missing, timeline.ranks.at(0).dropped) << "they had ended before the logs were opened";
}

/// Reads a log again and again while it grows.
void readMeanwhile(const RecordedLoad& load, int times) {
  RecordedLog log;
  RecorderOptions options;
  options.logDirectory = log.folder();
  options.ringSlots = load.ringSlots;
  Recorder recorder(options);
  Counts ended{};
  std::atomic<bool> stop = false;
  for (const char* const name : {kNames[0], kNames[1], kNames[2]}) {
    recorder.addStream(name, std::make_unique<CpuStream>());
  }
  std::vector<std::thread> threads;
  for (StreamId stream = 0; stream < kLanes; ++stream) {
    threads.emplace_back([&, stream] { record(recorder, stream, load, ended, stop); });
  }
  while (ended[0] == 0 || ended[1] == 0 || ended[2] == 0) std::this_thread::yield();
  for (int i = 0; i < times && !testing::Test::HasFatalFailure(); ++i) {
    readOnce(log.folder(), ended);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(RunningRecorderTest, AGrowingLogHoldsEachEndedJobOnce) {
  for (int round = 0; round < 4; ++round) {
    readMeanwhile({.ringSlots = 1 << 14, .pauseEvery = 500, .most = kMost}, 3);
    if (HasFatalFailure()) return;
  }
}

TEST(RunningRecorderTest, AGrowingCompressedLogHoldsEachEndedJobOnce) {
  const Environment clean;
  setenv("PIPETRACE_LOG_COMPRESS", "zstd", 1);
  for (int round = 0; round < 4; ++round) {
    readMeanwhile({.ringSlots = 1 << 14, .pauseEvery = 500, .most = kMost}, 3);
    if (HasFatalFailure()) return;
  }
}

TEST(RunningRecorderTest, ARingThatOverflowsWhileItIsReadShowsNoWrongJob) {
  for (int round = 0; round < 4; ++round) {
    readMeanwhile({.ringSlots = 256, .most = kMost}, 2);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace pipetrace
