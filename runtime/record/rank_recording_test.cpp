#include "runtime/record/rank_recording.h"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "profiler/clock/clock_exchange.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/testing/recorded_log.h"
#include "runtime/launch/process_env.h"
#include "trace/nanoseconds.h"

namespace pipetrace {
namespace {

TEST(RankRecordingTest, ARankHasItsFirstComparisonOfClocksBeforeItsFirstStep) {
  const int port = ClockServer("127.0.0.1", 0, monotonicNow).port();
  std::unique_ptr<ClockServer> server;
  std::thread rank0([&] {  // opens its log later than rank 1
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server = std::make_unique<ClockServer>("127.0.0.1", port, monotonicNow);
  });
  const RecordedLog log;
  RankRecording recording(
      {.logDirectory = log.folder(),
       .info = {.rank = 1, .worldSize = 2},
       .steps = {},
       .env = ProcessEnv{.rank = 1, .worldSize = 2, .masterAddr = "127.0.0.1", .clockPort = port}});
  EXPECT_THAT(log.lines("Profiler Clock: ", 1), ::testing::SizeIs(1));
  rank0.join();
}

TEST(RankRecordingTest, RanksOfOneHostWaitForNoComparisonOfClocks) {
  const int port = ClockServer("127.0.0.1", 0, monotonicNow).port();
  const RecordedLog log;
  RankRecording recording({.logDirectory = log.folder(),
                           .info = {.rank = 1, .worldSize = 2},
                           .steps = {},
                           .env = ProcessEnv{.rank = 1,
                                             .worldSize = 2,
                                             .localWorldSize = 2,
                                             .masterAddr = "127.0.0.1",
                                             .clockPort = port}});
  recording.close();
  EXPECT_THAT(log.lines("Profiler Clock: ", 1), ::testing::IsEmpty());
}

}  // namespace
}  // namespace pipetrace
