#include "analysis/run/clocks/offset_strip.h"

#include <gmock/gmock.h>

#include <random>

namespace pipetrace {
namespace {

using testing::UnorderedElementsAre;

constexpr Timeline::Span kSpan{0, 1'000'000};

TEST(OffsetStripTest, ParallelBoundsLeaveTheLineInTheirMiddle) {
  // At least 40 and at most 60, at the begin and at the end. So no line is off by more than 10.
  const OffsetStrip strip(kSpan, {{0, 40, 0}, {1'000'000, 40, 1}},
                          {{0, 60, 2}, {1'000'000, 60, 3}});
  const auto range = strip.range();
  ASSERT_TRUE(range.has_value());
  EXPECT_NEAR(range->begin.low, 40, 1e-6);
  EXPECT_NEAR(range->begin.high, 60, 1e-6);
  EXPECT_NEAR(range->end.middle(), 50, 1e-6);
  EXPECT_EQ(strip.leastSlack(), 0);
  EXPECT_FALSE(strip.range(-11).has_value());
  EXPECT_NEAR(strip.range(-4)->begin.low, 44, 1e-6);
}

TEST(OffsetStripTest, BoundsInTheMiddleLeaveMoreRoomAtTheEnds) {
  // Between 0 and 10 at 250'000 and at 750'000. The steepest line rises from 0 to 10 there, so from
  // -5 to 15 over the whole span.
  const OffsetStrip strip(kSpan, {{250'000, 0, 0}, {750'000, 0, 1}},
                          {{250'000, 10, 2}, {750'000, 10, 3}});
  const auto range = strip.range();
  ASSERT_TRUE(range.has_value());
  EXPECT_NEAR(range->begin.low, -5, 1e-6);
  EXPECT_NEAR(range->begin.high, 15, 1e-6);
  EXPECT_NEAR(range->end.low, -5, 1e-6);
  EXPECT_NEAR(range->end.middle(), 5, 1e-6);
}

TEST(OffsetStripTest, OneExchangeLeavesTheDriftToItsLimit) {
  const OffsetStrip strip(kSpan, {{500'000, 0, 0}}, {{500'000, 10, 1}});
  const auto range = strip.range();
  ASSERT_TRUE(range.has_value());
  // 1000 ppm of half of the span are 500.
  EXPECT_NEAR(range->begin.low, -500, 1e-6);
  EXPECT_NEAR(range->begin.high, 510, 1e-6);
}

TEST(OffsetStripTest, BoundsOutsideOfTheSpanLeaveTheDriftOfTheWholeWay) {
  // Between 0 and 10 one span before the begin: 1000 ppm of one span, and of two, are 1000 and
  // 2000.
  const OffsetStrip before(kSpan, {{-1'000'000, 0, 0}}, {{-1'000'000, 10, 1}});
  EXPECT_NEAR(before.range()->begin.low, -1000, 1e-6);
  EXPECT_NEAR(before.range()->begin.high, 1010, 1e-6);
  EXPECT_NEAR(before.range()->end.low, -2000, 1e-6);
  EXPECT_NEAR(before.range()->end.high, 2010, 1e-6);
  const OffsetStrip after(kSpan, {{2'000'000, 0, 0}}, {{2'000'000, 10, 1}});
  EXPECT_NEAR(after.range()->begin.low, -2000, 1e-6);
  EXPECT_NEAR(after.range()->begin.high, 2010, 1e-6);
  EXPECT_NEAR(after.range()->end.low, -1000, 1e-6);
  EXPECT_NEAR(after.range()->end.high, 1010, 1e-6);
}

TEST(OffsetStripTest, OffsetsOfYearsAreExactToTheNanosecond) {
  constexpr Nanoseconds kYear = 365 * 86'400 * kNsPerSecond;
  constexpr Nanoseconds kEpoch = 1'697'793'307'213'760'986;
  const OffsetStrip strip({kEpoch, kEpoch + kNsPerSecond},
                          {{kEpoch, kYear, 0}, {kEpoch + kNsPerSecond, kYear + 100, 1}},
                          {{kEpoch, kYear + 20, 2}, {kEpoch + kNsPerSecond, kYear + 120, 3}});
  const auto range = strip.range();
  ASSERT_TRUE(range.has_value());
  EXPECT_NEAR(range->begin.middle() - kYear, 10, 4);  // a double of a year
  EXPECT_NEAR(range->end.middle() - kYear, 110, 4);
}

TEST(OffsetStripTest, BoundsThatNoLineKeepsNameTheirMessages) {
  // A clock that was set in the middle of the run: 0 to 10 before, 500 to 510 after and 0 to 10 at
  // the end.
  const OffsetStrip strip(kSpan, {{0, 0, 0}, {500'000, 500, 1}, {1'000'000, 0, 2}},
                          {{0, 10, 3}, {500'000, 510, 4}, {1'000'000, 10, 5}});
  EXPECT_FALSE(strip.range().has_value());
  // Up to 10 at both ends, so up to 10 in the middle, where it is to be 500: each gives 245.
  EXPECT_NEAR(strip.leastSlack(), 245, 1);
  EXPECT_TRUE(strip.range(strip.leastSlack()).has_value());
  EXPECT_THAT(strip.contradictions(), UnorderedElementsAre(1, 3, 5));
}

TEST(OffsetStripTest, DriftsThatNoClockHasAreContradictions) {
  // The offset rises by 2000 to 2010 in the span: 2000 ppm, where 1000 are possible.
  const OffsetStrip strip(kSpan, {{0, 0, 0}, {1'000'000, 2000, 1}},
                          {{0, 10, 2}, {1'000'000, 2010, 3}});
  EXPECT_NEAR(strip.leastSlack(), (2000 - 10 - 1000) / 2, 1);
  EXPECT_THAT(strip.contradictions(), UnorderedElementsAre(1, 2));
}

TEST(OffsetStripTest, RangeIsThatOfAllLinesThatRandomPointsLeave) {
  // The truth is a line; each bound is some way off it. The extremes over all lines through two
  // bounds that keep all others are a second opinion: a largest value lies at a corner.
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const double slope = (static_cast<double>(random() % 1000) - 500) / 1e6;
    std::vector<OffsetBound> lower;
    std::vector<OffsetBound> upper;
    for (std::size_t i = 0; i < 12; ++i) {
      const auto when = static_cast<Nanoseconds>(random() % 1'000'000);
      const auto offset = static_cast<Nanoseconds>(slope * static_cast<double>(when));
      const auto distance = static_cast<Nanoseconds>(1 + random() % 200);
      (i % 2 == 0 ? lower : upper)
          .push_back({when, offset + (i % 2 == 0 ? -distance : distance), i});
    }
    const OffsetStrip strip(kSpan, lower, upper);
    const auto range = strip.range();
    ASSERT_TRUE(range.has_value());
    EXPECT_LE(range->begin.low, 0.5);
    EXPECT_GE(range->begin.high, -0.5);
    double low = 1e9;
    double high = -1e9;
    const auto tryLine = [&](double begin, double rise) {
      const auto room = [&](const OffsetBound& bound, double sign) {
        return sign *
               (begin + rise * static_cast<double>(bound.when) - static_cast<double>(bound.offset));
      };
      for (const OffsetBound& bound : lower) {
        if (room(bound, 1) < -1e-6) return;
      }
      for (const OffsetBound& bound : upper) {
        if (room(bound, -1) < -1e-6) return;
      }
      low = std::min(low, begin);
      high = std::max(high, begin);
    };
    std::vector<OffsetBound> all = lower;
    all.insert(all.end(), upper.begin(), upper.end());
    for (const OffsetBound& a : all) {
      for (const double most : {-1e-3, 1e-3}) {
        tryLine(static_cast<double>(a.offset) - most * static_cast<double>(a.when), most);
      }
      for (const OffsetBound& b : all) {
        if (a.when >= b.when) continue;
        const double rise =
            static_cast<double>(b.offset - a.offset) / static_cast<double>(b.when - a.when);
        if (std::abs(rise) > 1e-3) continue;
        tryLine(static_cast<double>(a.offset) - rise * static_cast<double>(a.when), rise);
      }
    }
    EXPECT_NEAR(range->begin.low, low, 1e-3) << round;
    EXPECT_NEAR(range->begin.high, high, 1e-3) << round;
  }
}

}  // namespace
}  // namespace pipetrace
