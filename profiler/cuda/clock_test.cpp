#include "profiler/cuda/clock.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

TEST(CudaClockTest, ATimeBetweenTwoAnchorsIsInterpolated) {
  CudaClock clock;
  clock.add({.device = 1'000, .host = 5'000'000'000, .halfWidth = 1'000});
  clock.add({.device = 2'000'001'000, .host = 6'999'964'000, .halfWidth = 3'000});
  BoundedTime host;
  ASSERT_TRUE(clock.toHost(1'000, host));
  EXPECT_EQ(host.time, 5'000'000'000);
  // A quarter of the way: a quarter of 1'999'964'000 ns.
  ASSERT_TRUE(clock.toHost(500'001'000, host));
  EXPECT_EQ(host.time, 5'000'000'000 + 499'991'000);
  // 1'000 + a quarter of 2'000, and 1 ppm of half a second (rounded up).
  EXPECT_EQ(host.bound, 1'500 + 501);
  ASSERT_TRUE(clock.toHost(2'000'001'000, host));
  EXPECT_EQ(host.time, 6'999'964'000);
  EXPECT_EQ(host.bound, 3'000);
}

TEST(CudaClockTest, ATimeAfterTheLastAnchorIsUnknown) {
  CudaClock clock;
  BoundedTime host;
  EXPECT_FALSE(clock.toHost(0, host)) << "no anchor at all";
  clock.add({.device = 0, .host = 100, .halfWidth = 1});
  EXPECT_FALSE(clock.toHost(1, host));
  ASSERT_TRUE(clock.toHost(0, host));
  EXPECT_EQ(host.time, 100);
  EXPECT_FALSE(clock.toHost(-1, host)) << "one anchor gives no rate";
  clock.add({.device = 1'000, .host = 1'100, .halfWidth = 1});
  EXPECT_TRUE(clock.toHost(1'000, host));
  EXPECT_FALSE(clock.toHost(1'001, host));
}

TEST(CudaClockTest, BeforeTheFirstAnchorTheBoundGrowsWithTheDistance) {
  CudaClock clock;
  clock.add({.device = 0, .host = 1'000'000, .halfWidth = 10});
  clock.add({.device = 1'000'000, .host = 2'000'000, .halfWidth = 20});
  BoundedTime host;
  ASSERT_TRUE(clock.toHost(-2'000'000, host));
  EXPECT_EQ(host.time, -1'000'000);
  // The rate is off by at most 30 ns in 1'000'000: 60 for 2'000'000; and 2 ns of wander (+ 1).
  EXPECT_EQ(host.bound, 10 + 60 + 3);
}

TEST(CudaClockTest, AnAnchorTooCloseToTheOneBeforeIsReplacedByTheNext) {
  CudaClock clock;
  clock.add({.device = 0, .host = 0, .halfWidth = 0});
  clock.add({.device = 2 * kNsPerSecond, .host = 2 * kNsPerSecond, .halfWidth = 0});
  clock.add({.device = 2 * kNsPerSecond + 10 * kNsPerMs,
             .host = 2 * kNsPerSecond + 10 * kNsPerMs + 5'000,
             .halfWidth = 5'000});
  BoundedTime host;
  ASSERT_TRUE(clock.toHost(2 * kNsPerSecond + 5 * kNsPerMs, host));
  EXPECT_EQ(host.time, 2 * kNsPerSecond + 5 * kNsPerMs + 2'500) << "it serves until then";
  clock.add({.device = 4 * kNsPerSecond, .host = 4 * kNsPerSecond, .halfWidth = 0});
  ASSERT_TRUE(clock.toHost(2 * kNsPerSecond + 5 * kNsPerMs, host));
  EXPECT_EQ(host.time, 2 * kNsPerSecond + 5 * kNsPerMs);
}

TEST(CudaClockTest, AnAnchorThatGoesBackIsLeftOut) {
  CudaClock clock;
  clock.add({.device = 0, .host = 0});
  clock.add({.device = 2 * kNsPerSecond, .host = 2 * kNsPerSecond});
  clock.add({.device = kNsPerSecond, .host = 3 * kNsPerSecond});
  clock.add({.device = 3 * kNsPerSecond, .host = kNsPerSecond});
  EXPECT_EQ(clock.last().device, 2 * kNsPerSecond);
  EXPECT_EQ(clock.last().host, 2 * kNsPerSecond);
}

TEST(CudaClockTest, OnlyTheLatestAnchorsAreKeptAndEarlierTimesGetWiderBounds) {
  CudaClock clock;
  for (int i = 0; i < 5'000; ++i) {
    clock.add({.device = i * kNsPerSecond, .host = i * (kNsPerSecond + 18'000), .halfWidth = 1});
  }
  BoundedTime host;
  for (const Nanoseconds second : {4'999, 4'500, 4'000, 0}) {
    ASSERT_TRUE(clock.toHost(second * kNsPerSecond, host));
    EXPECT_EQ(host.time, second * (kNsPerSecond + 18'000));
  }
  EXPECT_GT(host.bound, 3'000 * kNsPerUs) << "3976 s from what is kept, at 1 ppm";
}

}  // namespace
}  // namespace pipetrace
