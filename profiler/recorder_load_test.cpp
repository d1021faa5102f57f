// Many threads that record at once.
#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "profiler/cpu_stream.h"
#include "profiler/recorded_log.h"
#include "profiler/recorder.h"
#include "profiler/wall_clock.h"

namespace pipetrace {
namespace {

constexpr int kThreads = 8;

std::string nameOf(int stream) { return stream == 0 ? "compute" : "s" + std::to_string(stream); }

TEST(RecorderLoadTest, AHundredThousandJobsASecondOnEightThreadsDropNothing) {
  constexpr int kJobs = 12'500;  // of each thread, within a second
  constexpr int kTogether = 125;
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder()});
  for (int i = 0; i < kThreads; ++i) recorder.addStream(nameOf(i), std::make_unique<CpuStream>());
  std::vector<std::thread> threads;
  for (StreamId stream = 0; stream < kThreads; ++stream) {
    threads.emplace_back([&recorder, stream] {
      for (int i = 0; i < kJobs; ++i) {
        recorder.begin(stream, {.microBatch = i, .step = i / 1000, .action = "0F0"});
        recorder.end(stream);
        if (i % 10 == 0) recorder.counter("depth", i);
        if (stream == 0 && i % 1000 == 999) recorder.endStep(i / 1000);
        if (i % kTogether == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  recorder.close();
  EXPECT_EQ(log.number("Profiler End: ", "dropped"), 0);
  EXPECT_EQ(log.number("Profiler End: ", "errors"), 0);
  EXPECT_EQ(log.number("Profiler End: ", "written"), kThreads * (kJobs + kJobs / 10));
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

TEST(RecorderLoadTest, LinesAreWrittenByTheSixtyFour) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder()});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const auto record = [&](int jobs) {
    for (int i = 0; i < jobs; ++i) {
      recorder.begin(compute, {.step = 0});
      recorder.end(compute);
    }
    recorder.endStep(0);
  };
  record(63 + 64);
  const Nanoseconds start = monotonicNow();
  std::size_t lines = 0;
  while (lines < 64 && monotonicNow() - start < 5 * kNsPerSecond) {
    lines = log.lines("Profiler Info: ").size();
  }
  while (lines < 127 && monotonicNow() - start < 5 * kNsPerSecond) {
    EXPECT_THAT(lines, testing::AnyOf(64u, 127u));
    lines = log.lines("Profiler Info: ").size();
  }
  EXPECT_EQ(lines, 127u) << "what is less than 64 waits, but not for ever";
}

}  // namespace
}  // namespace pipetrace
