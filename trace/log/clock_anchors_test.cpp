#include "trace/log/clock_anchors.h"

#include <gmock/gmock.h>

#include <array>

namespace pipetrace {
namespace {

// 3 ticks per ns at first, then 1.5 (a clock that was slewed).
constexpr std::array<ClockAnchor, 3> kAnchors = {
    {{3'000, 10'000}, {6'000, 11'000}, {9'000, 13'000}}};

TEST(ClockAnchorsTest, AReadingBetweenTwoAnchorsIsOnTheLineThroughThem) {
  EXPECT_EQ(monotonicAt(kAnchors, 3'000), 10'000);
  EXPECT_EQ(monotonicAt(kAnchors, 4'500), 10'500);
  EXPECT_EQ(monotonicAt(kAnchors, 6'000), 11'000);
  EXPECT_EQ(monotonicAt(kAnchors, 7'500), 12'000);
}

TEST(ClockAnchorsTest, OutsideTheAnchorsTheMeanRateGoesOn) {
  EXPECT_EQ(monotonicAt(kAnchors, 9'000), 13'000);
  EXPECT_EQ(monotonicAt(kAnchors, 11'000), 14'000);  // 6000 ticks took 3000 ns
  EXPECT_EQ(monotonicAt(kAnchors, 1'000), 9'000);
}

TEST(ClockAnchorsTest, TimesNeverDecrease) {
  Nanoseconds before = kNsMin;
  for (std::uint64_t ticks = 2'000; ticks < 10'000; ++ticks) {
    const Nanoseconds now = monotonicAt(kAnchors, ticks);
    EXPECT_GE(now, before) << ticks;
    before = now;
  }
}

TEST(ClockAnchorsTest, YearsOfTicksDoNotOverflow) {
  const std::uint64_t ticks = 3'000'000'000ull * 86'400 * 365 * 50;
  const std::array<ClockAnchor, 2> anchors = {
      {{0, 0}, {ticks, 86'400ll * 365 * 50 * kNsPerSecond}}};
  EXPECT_EQ(monotonicAt(anchors, ticks / 2), 86'400ll * 365 * 25 * kNsPerSecond);
}

}  // namespace
}  // namespace pipetrace
