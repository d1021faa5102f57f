#include "profiler/clock/wall_clock.h"

#include <gmock/gmock.h>

#include <chrono>

#include "profiler/cpu_stream.h"

namespace pipetrace {
namespace {

TEST(WallClockTest, MapsToTheSystemsWallClock) {
  const WallClock clock = WallClock::read();
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const Nanoseconds mapped = clock.at(monotonicNow());
  const Nanoseconds expected = std::chrono::nanoseconds(wall).count();
  EXPECT_NEAR(static_cast<double>(mapped - expected), 0, 50e6);
}

TEST(WallClockTest, RanksOfOneHostAgreeToTenMicroseconds) {
  // Each rank reads the relation for itself; a slow try must not spoil it.
  const Nanoseconds first = WallClock::read().offset();
  for (int rank = 1; rank < 20; ++rank) {
    const WallClock clock = WallClock::read();
    EXPECT_LE(std::abs(clock.offset() - first), 10 * kNsPerUs);
    EXPECT_LE(clock.uncertainty(), 10 * kNsPerUs);
  }
}

TEST(WallClockTest, AWrongClockIsOffByItsSkew) {
  const WallClock right = WallClock::read();
  const Nanoseconds begin = monotonicNow();
  const WallClock wrong = right.skewed({.offset = -5 * kNsPerMs, .drift = 20'000}, begin);
  for (const Nanoseconds passed : {Nanoseconds{0}, kNsPerSecond, 3600 * kNsPerSecond}) {
    EXPECT_EQ(wrong.at(begin + passed) - right.at(begin + passed), -5 * kNsPerMs + passed / 50'000);
  }
}

TEST(CpuStreamTest, MarksAreReadingsOfTheRecordersClock) {
  HostClock clock;
  CpuStream stream(WallClock::read());
  stream.useClock(clock);
  const Nanoseconds before = monotonicNow();
  const DeviceStream::Mark begin = stream.mark();
  const DeviceStream::Mark end = stream.mark();
  const Nanoseconds after = monotonicNow();
  Nanoseconds beginTime = 0;
  Nanoseconds endTime = 0;
  EXPECT_FALSE(stream.resolve(end, endTime)) << "no anchor after it";
  while (!stream.resolve(end, endTime)) clock.addAnchor();
  ASSERT_TRUE(stream.resolve(begin, beginTime));
  EXPECT_LE(beginTime, endTime);
  EXPECT_NEAR(static_cast<double>(WallClock::read().at(before) - beginTime), 0, 10e3);
  EXPECT_LE(endTime - beginTime, after - before + 100);
}

}  // namespace
}  // namespace pipetrace
