#include "analysis/run/clocks/move_times.h"

#include <gmock/gmock.h>

#include <random>

namespace pipetrace {
namespace {

using testing::SizeIs;

constexpr Nanoseconds kEpoch = 1'697'793'307'213'760'986;

TEST(RankClockTest, OneReadingMovesEveryTimeAlike) {
  const RankClock clock({{kEpoch, -1250, 800}});
  for (const Nanoseconds time : {Nanoseconds{0}, kEpoch - 1, kEpoch, kEpoch + kNsPerSecond}) {
    EXPECT_EQ(clock.toRankZero(time), time - 1250);
  }
}

TEST(RankClockTest, BetweenTwoReadingsTheOffsetIsOnTheLine) {
  const RankClock clock({{1000, 40, 1}, {2000, 50, 1}});
  EXPECT_EQ(clock.toRankZero(1000), 1040);
  EXPECT_EQ(clock.toRankZero(1099), 1139);  // 40.99
  EXPECT_EQ(clock.toRankZero(1100), 1141);
  EXPECT_EQ(clock.toRankZero(1500), 1545);
  EXPECT_EQ(clock.toRankZero(1999), 2048);  // 49.99
  EXPECT_EQ(clock.toRankZero(2000), 2050);
}

TEST(RankClockTest, FallingOffsetsAreRoundedDown) {
  const RankClock clock({{1000, 0, 1}, {2000, -10, 1}});
  EXPECT_EQ(clock.toRankZero(1001), 1000);  // -0.01
  EXPECT_EQ(clock.toRankZero(1100), 1099);
  EXPECT_EQ(clock.toRankZero(1101), 1099);  // -1.01
}

TEST(RankClockTest, OutsideTheReadingsTheNearestOffsetHolds) {
  const RankClock clock({{2000, 50, 1}, {1000, 40, 1}});  // in any order
  EXPECT_EQ(clock.toRankZero(-5), 35);
  EXPECT_EQ(clock.toRankZero(999), 1039);
  EXPECT_EQ(clock.toRankZero(9999), 10049);
}

TEST(RankClockTest, EveryNanosecondOfALongRunIsExact) {
  // A clock that is fast by 1 in 10^6, read once a day: the product of both needs 128 bits.
  constexpr Nanoseconds kDay = 86'400 * kNsPerSecond;
  const RankClock clock({{kEpoch, 7, 9}, {kEpoch + 1000 * kDay, 7 + kDay / 1000, 9}});
  EXPECT_EQ(clock.toRankZero(kEpoch + 999'999), kEpoch + 999'999 + 7);
  EXPECT_EQ(clock.toRankZero(kEpoch + 1'000'000), kEpoch + 1'000'000 + 8);
  EXPECT_EQ(clock.toRankZero(kEpoch + 500 * kDay + 1'000'000),
            kEpoch + 500 * kDay + 1'000'000 + 7 + kDay / 2000 + 1);
}

TEST(RankClockTest, TimeNeverRunsBackwards) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<ClockReading> readings;
    for (int i = 0; i < 6; ++i) {
      readings.push_back({static_cast<Nanoseconds>(random() % 3000),
                          static_cast<Nanoseconds>(random() % 1000) - 500,
                          static_cast<Nanoseconds>(random() % 10)});
    }
    const RankClock clock(readings);
    for (Nanoseconds time = -10; time < 3010; ++time) {
      ASSERT_GE(clock.toRankZero(time), clock.toRankZero(time - 1)) << round << " " << time;
    }
    for (const ClockReading& reading : clock.readings()) {
      EXPECT_EQ(clock.toRankZero(reading.when), reading.when + reading.offset);
    }
  }
}

TEST(RankClockTest, TheMoreExactOfContradictingReadingsIsKept) {
  const RankClock backwards({{1000, 500, 9}, {1400, 0, 5}, {3000, 10, 9}});
  EXPECT_EQ(backwards.contradictions(), 1);
  EXPECT_EQ(backwards.toRankZero(1000), 1000);
  const RankClock atOnce({{1000, 20, 5}, {1000, 30, 6}});
  EXPECT_EQ(atOnce.contradictions(), 1);
  EXPECT_EQ(atOnce.toRankZero(1000), 1020);
  const RankClock twice({{1000, 20, 5}, {1000, 20, 6}});
  EXPECT_EQ(twice.contradictions(), 0);
  EXPECT_THAT(twice.readings(), SizeIs(1));
}

TEST(RankClockTest, OffsetsBeyondAllTimesAreDropped) {
  const RankClock clock({{0, kNsMax, 1}, {kNsMin, kNsMin, 1}, {10, 3, 1}});
  EXPECT_EQ(clock.contradictions(), 2);
  EXPECT_EQ(clock.toRankZero(100), 103);
  const RankClock far({{kNsMin, kNsMax / 2, 1}, {kNsMax, -kNsMax / 2, 1}});
  EXPECT_EQ(far.toRankZero(kNsMin), kNsMin + kNsMax / 2);
  EXPECT_EQ(far.toRankZero(kNsMax), kNsMax - kNsMax / 2);
  EXPECT_EQ(RankClock({{0, 1000, 1}}).toRankZero(kNsMax), kNsMax);
}

}  // namespace
}  // namespace pipetrace
