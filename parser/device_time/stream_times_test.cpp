// Work on a stream of a device that no stream can have run as recorded.
#include "parser/device_time/stream_times.h"

#include <gmock/gmock.h>

#include <deque>
#include <vector>

namespace pipetrace {
namespace {

class StreamTimes : public testing::Test {
 protected:
  StreamTimes() { events_.reserve(100); }

  void add(Nanoseconds begin, Nanoseconds end, Nanoseconds launched = kNsMin) {
    Event& event = events_.emplace_back();
    event.begin = begin;
    event.end = end;
    const Launch* launch = nullptr;
    if (launched != kNsMin) {
      launches_.push_back({.time = launched});
      launch = &launches_.back();
    }
    work_.push_back({.event = &event, .launch = launch});
  }

  std::vector<Event> events_;
  std::deque<Launch> launches_;
  std::vector<StreamWork> work_;
};

TEST_F(StreamTimes, WorkIsCutWhereTheNextOneBegins) {
  add(0, 5 * kNsPerMs);
  add(3 * kNsPerMs, 9 * kNsPerMs);
  add(4 * kNsPerMs, 10 * kNsPerMs);
  const StreamFaults faults = correctStream(work_);
  EXPECT_EQ(faults.overruns, 2);
  EXPECT_EQ(faults.overrunTime, 7 * kNsPerMs);
  EXPECT_EQ(events_[0].end, 3 * kNsPerMs);
  EXPECT_EQ(events_[1].end, 4 * kNsPerMs);
  EXPECT_EQ(events_[2].end, 10 * kNsPerMs);
}

TEST_F(StreamTimes, MicrosecondsOfDependentLaunchAreNoOverrun) {
  add(0, 100'000);
  add(100'000 - kMostOverrun, 200'000);
  EXPECT_EQ(correctStream(work_).overruns, 0);
  EXPECT_EQ(events_[0].end, 100'000);
}

TEST_F(StreamTimes, WorkOfOneLaunchMayOverlap) {
  add(0, 5 * kNsPerMs, 0);
  add(kNsPerMs, 6 * kNsPerMs);
  work_[1].launch = work_[0].launch;
  EXPECT_EQ(correctStream(work_).overruns, 0);
}

TEST_F(StreamTimes, EmptyWorkFarBeforeItsLaunchHasNoTimeAndIsRemoved) {
  constexpr Nanoseconds kDay = 86'400 * kNsPerSecond;
  add(kDay, kDay + kNsPerMs, kDay - kNsPerMs);
  add(0, 0, kDay);
  add(kDay + kNsPerMs, kDay + 2 * kNsPerMs, kDay);
  const StreamFaults faults = correctStream(work_);
  EXPECT_EQ(faults.withoutTime, 1);
  EXPECT_EQ(faults.overruns, 0);
  removeWithoutTime(work_, events_);
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_EQ(events_[0].begin, kDay);
  EXPECT_EQ(events_[1].begin, kDay + kNsPerMs);
}

TEST_F(StreamTimes, ADeviceWhoseWholeClockIsBehindKeepsItsWork) {
  for (int i = 0; i < 20; ++i) {
    add(i * kNsPerMs, i * kNsPerMs + 1, 3600 * kNsPerSecond + i * kNsPerMs);
  }
  EXPECT_EQ(correctStream(work_).withoutTime, 0);
}

TEST_F(StreamTimes, AFewThatLieSecondsBeforeTheirLaunchHaveNoTime) {
  for (int i = 1; i < 20; ++i) add(i * kNsPerSecond, i * kNsPerSecond + 1, i * kNsPerSecond);
  add(0, kNsPerMs, 19 * kNsPerSecond);
  EXPECT_EQ(correctStream(work_).withoutTime, 1);
  EXPECT_TRUE(work_.back().hasNoTime);
}

}  // namespace
}  // namespace pipetrace
