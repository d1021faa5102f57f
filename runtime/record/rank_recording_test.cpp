#include "runtime/record/rank_recording.h"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "profiler/clock/clock_exchange.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/testing/recorded_log.h"
#include "schedule/build_schedule.h"
#include "trace/nanoseconds.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

TEST(RankRecordingTest, ARankHasItsFirstComparisonOfClocksBeforeItsFirstStep) {
  OwnedFd listener = listenAt("127.0.0.1");
  const ClockPlace place{.address = "127.0.0.1", .port = portOf(listener), .token = "secret"};
  std::unique_ptr<ClockServer> server;
  std::thread rank0([&] {  // opens its log later than rank 1
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server = std::make_unique<ClockServer>(std::move(listener), place.token, monotonicNow);
  });
  const RecordedLog log;
  RankRecording recording({.logDirectory = log.folder(),
                           .info = {.rank = 1, .worldSize = 2},
                           .steps = {},
                           .isProcess = true,
                           .clock = RunClock{.place = place, .listener = {}}});
  EXPECT_THAT(log.lines("Profiler Clock: ", 1), ::testing::SizeIs(1));
  rank0.join();
}

TEST(RankRecordingTest, RankZeroAnswersWhereItWasAsked) {
  OwnedFd listener = listenAt("127.0.0.1");
  const ClockPlace place{.address = "127.0.0.1", .port = portOf(listener), .token = "secret"};
  const RecordedLog log;
  RankRecording recording({.logDirectory = log.folder(),
                           .info = {.rank = 0, .worldSize = 2},
                           .steps = {},
                           .isProcess = true,
                           .clock = RunClock{.place = place, .listener = std::move(listener)}});
  const Nanoseconds bound = ClockExchange(place, monotonicNow).compare().bound;
  EXPECT_GT(bound, 0);
}

TEST(RankRecordingTest, TheLogOfATrainingNamesTheBlocksOfItsStages) {
  const Plan plan = buildSchedule("1F1B", 2, 4);
  const RankInfo again = rankInfoOf(plan, 1, {.blocks = {3, 2}, .recomputed = {1, 0}});
  EXPECT_EQ(again.blocks, "3,2");
  EXPECT_EQ(again.recomputedBlocks, "1,0");
  EXPECT_EQ(rankInfoOf(plan, 1, {.blocks = {3, 2}, .recomputed = {0, 0}}).recomputedBlocks, "");
  EXPECT_EQ(rankInfoOf(plan, 1).blocks, "") << "a rehearsal has none";
}

TEST(RankRecordingTest, RanksOfOneHostCompareNoClocks) {
  const RecordedLog log;
  RankRecording recording({.logDirectory = log.folder(),
                           .info = {.rank = 1, .worldSize = 2},
                           .steps = {},
                           .isProcess = true});
  recording.close();
  EXPECT_THAT(log.lines("Profiler Clock: ", 1), ::testing::IsEmpty());
}

}  // namespace
}  // namespace pipetrace
