// Many threads that record at once.
#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "profiler/clock/wall_clock.h"
#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"

namespace pipetrace {
namespace {

constexpr int kThreads = 8;

std::string nameOf(int stream) { return stream == 0 ? "compute" : "s" + std::to_string(stream); }

TEST(RecorderLoadTest, AHundredThousandJobsASecondOnEightThreadsDropNothing) {
  constexpr int kJobs = 20'000;  // of each thread, in 1.6 s: more than its ring holds
  constexpr int kTogether = 125;
  RecordedLog log;
  const RecorderOptions options{.logDirectory = log.folder()};
  ASSERT_GT(kJobs, options.ringSlots) << "a job that is not written in time would be dropped";
  Recorder recorder(options);
  for (int i = 0; i < kThreads; ++i) recorder.addStream(nameOf(i), std::make_unique<CpuStream>());
  std::vector<std::thread> threads;
  for (StreamId stream = 0; stream < kThreads; ++stream) {
    threads.emplace_back([&recorder, stream] {
      for (int i = 0; i < kJobs; ++i) {
        recorder.begin(stream, {.microBatch = i, .step = i / 1000, .action = "0F0"});
        recorder.end(stream);
        if (i % 100 == 0) recorder.counter("depth", i);
        if (stream == 0 && i % 1000 == 999) recorder.endStep(i / 1000);
        if (i % kTogether == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  recorder.close();
  EXPECT_EQ(log.number("Profiler End: ", "dropped"), 0);
  EXPECT_EQ(log.number("Profiler End: ", "errors"), 0);
  EXPECT_EQ(log.number("Profiler End: ", "written"), kThreads * (kJobs + kJobs / 100));
}

TEST(RecorderLoadTest, AtFullSpeedEveryJobIsWrittenOrCounted) {
  constexpr int kJobs = 100'000;
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .ringSlots = 256});
  for (int i = 0; i < kThreads; ++i) recorder.addStream(nameOf(i), std::make_unique<CpuStream>());
  std::vector<std::thread> threads;
  for (StreamId stream = 0; stream < kThreads; ++stream) {
    threads.emplace_back([&recorder, stream] {
      for (int i = 0; i < kJobs; ++i) {
        recorder.begin(stream, {.microBatch = i, .step = i / 1000});
        recorder.end(stream);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  recorder.close();
  const long long written = log.number("Profiler End: ", "written");
  EXPECT_EQ(written + log.number("Profiler End: ", "dropped"), kThreads * kJobs);
  EXPECT_EQ(static_cast<long long>(log.lines("Profiler Info: ").size() +
                                   log.lines("Profiler Stream: ").size()),
            written);
}

/// Calls of write(2) of this process so far; -1: not known.
long long writeCalls() {
  std::ifstream in("/proc/self/io");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("syscw: ")) return std::stoll(line.substr(7));
  }
  return -1;
}

TEST(RecorderLoadTest, AWriteTakesManyLines) {
  constexpr int kWrites = 25;
  constexpr int kJobs = kWrites * 512;
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .holdLimit = 1000 * kNsPerSecond});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const long long before = writeCalls();
  if (before < 0) GTEST_SKIP() << "/proc/self/io does not count writes";
  for (int i = 0; i < kJobs; ++i) {
    recorder.begin(compute, {.step = 0});
    recorder.end(compute);
  }
  recorder.endStep(0);
  recorder.close();
  EXPECT_EQ(log.number("Profiler End: ", "written"), kJobs);
  const long long calls = writeCalls() - before;
  EXPECT_GE(calls, kWrites) << "the count itself works";
  EXPECT_LE(calls, kWrites + 5);
}

/// Waits for lines, for five seconds at most.
std::size_t awaitLines(const RecordedLog& log, const char* mark) {
  const Nanoseconds start = monotonicNow();
  while (log.lines(mark).empty() && monotonicNow() - start < 5 * kNsPerSecond) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return log.lines(mark).size();
}

TEST(RecorderLoadTest, AFewLinesDoNotWaitForOthersForEver) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder()});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  recorder.begin(compute, {.step = 0});
  recorder.end(compute);
  recorder.endStep(0);
  EXPECT_EQ(awaitLines(log, "Profiler Info: "), 1u);
}

TEST(RecorderLoadTest, ACrowdedRingDoesNotWaitForItsStepsEnd) {
  RecordedLog log;
  Recorder recorder(
      {.logDirectory = log.folder(), .ringSlots = 256, .holdLimit = 1000 * kNsPerSecond});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  for (int i = 0; i < 200; ++i) {
    recorder.begin(compute, {.step = 0});
    recorder.end(compute);
  }
  EXPECT_GT(awaitLines(log, "Profiler Info: "), 0u);
}

TEST(RecorderLoadTest, SamplesDoNotWaitForJobsForEver) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .holdLimit = kNsPerMs});
  recorder.counter("loss", 1);
  EXPECT_EQ(awaitLines(log, "Profiler Counter: "), 1u);
}

TEST(RecorderLoadTest, ManySamplesDoNotWaitForJobs) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .holdLimit = 1000 * kNsPerSecond});
  for (int i = 0; i < 4000; ++i) recorder.counter("loss", i);  // there is room for 4096
  EXPECT_GT(awaitLines(log, "Profiler Counter: "), 0u);
}

}  // namespace
}  // namespace pipetrace
