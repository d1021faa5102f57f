#include "chart/time_axis.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pipetrace {
namespace {

constexpr Nanoseconds kEpoch = 1'697'793'307'213'760'986;
constexpr Nanoseconds kRun = 3 * kNsPerSecond + 17;

TimeAxis axisOfRun(int width = 1000) { return {kEpoch, kEpoch + kRun, width}; }

TEST(TimeAxisTest, ShowsTheWholeContentWithAMarginAtFirst) {
  const TimeAxis axis = axisOfRun();
  EXPECT_EQ(axis.begin(), kEpoch - kRun / 100);
  EXPECT_EQ(axis.end(), kEpoch + kRun + kRun / 100);
  EXPECT_EQ(axis.xOf(axis.begin()), 0);
  EXPECT_EQ(axis.xOf(axis.end() - 1), 999);
  EXPECT_EQ(axis.xOf(axis.end()), 1000);
  EXPECT_EQ(axis.xOf(axis.begin() - 1), -1);
}

TEST(TimeAxisTest, TheFirstInstantOfAPixelLiesInThatPixel) {
  TimeAxis axis = axisOfRun(977);
  for (int zooms = 0; zooms < 40; ++zooms) {
    for (int x = -5; x < 985; x += 7) {
      const Nanoseconds first = axis.timeAt(x);
      if (axis.span() < axis.width()) continue;  // several pixels per nanosecond
      EXPECT_EQ(axis.xOf(first), x);
      EXPECT_EQ(axis.xOf(first - 1), x - 1);
    }
    axis.zoom(300, 2, 3);
  }
}

TEST(TimeAxisTest, ZoomingKeepsTheTimeUnderTheCursor) {
  for (const int cursor : {0, 1, 333, 999}) {
    TimeAxis axis = axisOfRun();
    axis.zoom(cursor, 1, 2);
    const Nanoseconds under = axis.timeAt(cursor);
    Nanoseconds lastSpan = axis.span();
    while (axis.span() > 10 * axis.width()) {
      axis.zoom(cursor, 4, 5);
      EXPECT_LT(axis.span(), lastSpan);
      lastSpan = axis.span();
      EXPECT_LE(std::abs(axis.xOf(under) - cursor), 1);
    }
  }
}

TEST(TimeAxisTest, ZoomingInAndOutAgainGivesTheSameView) {
  TimeAxis axis = axisOfRun();
  axis.zoom(500, 1, 2);
  const Nanoseconds begin = axis.begin();
  const Nanoseconds span = axis.span();
  for (int i = 0; i < 10; ++i) axis.zoom(700, 1, 2);
  for (int i = 0; i < 10; ++i) axis.zoom(700, 2, 1);
  EXPECT_NEAR(static_cast<double>(axis.span()), static_cast<double>(span), 1 << 11);
  EXPECT_NEAR(static_cast<double>(axis.begin() - begin), 0.0, 1 << 12);
}

TEST(TimeAxisTest, TheViewStopsAtTheEndsOfTheContent) {
  TimeAxis axis = axisOfRun();
  const Nanoseconds begin = axis.begin();
  const Nanoseconds end = axis.end();
  axis.zoom(10, 5, 1);
  EXPECT_EQ(axis.begin(), begin);
  EXPECT_EQ(axis.end(), end);
  axis.zoom(500, 1, 10);
  axis.pan(1'000'000);
  EXPECT_EQ(axis.begin(), begin);
  axis.pan(-1'000'000);
  EXPECT_EQ(axis.end(), end);
  axis.fit();
  EXPECT_EQ(axis.begin(), begin);
  EXPECT_EQ(axis.end(), end);
}

TEST(TimeAxisTest, PanningMovesTheChartByThatManyPixels) {
  TimeAxis axis = axisOfRun();
  axis.zoom(500, 1, 100);
  const Nanoseconds middle = axis.timeAt(500);
  axis.pan(120);
  EXPECT_EQ(axis.xOf(middle), 620);
  axis.pan(-240);
  EXPECT_EQ(axis.xOf(middle), 380);
}

TEST(TimeAxisTest, AViewIsNeverShorterThanTheSmallestSpan) {
  TimeAxis axis = axisOfRun();
  for (int i = 0; i < 200; ++i) axis.zoom(500, 1, 2);
  EXPECT_EQ(axis.span(), TimeAxis::kMinSpan);
  axis.show(kEpoch + 5, kEpoch + 5);
  EXPECT_EQ(axis.span(), TimeAxis::kMinSpan);
}

TEST(TimeAxisTest, AContentOfNoLengthHasAnAxisAsWell) {
  const TimeAxis axis(kEpoch, kEpoch, 800);
  EXPECT_GE(axis.span(), TimeAxis::kMinSpan);
  EXPECT_GE(axis.xOf(kEpoch), 0);
  EXPECT_LT(axis.xOf(kEpoch), 800);
}

TEST(TimeAxisTest, TimesFarOutsideTheViewDoNotOverflow) {
  TimeAxis axis = axisOfRun();
  axis.zoom(0, 1, 1000);
  EXPECT_EQ(axis.xOf(kNsMax), TimeAxis::kFar);
  EXPECT_EQ(axis.xOf(kNsMin), -TimeAxis::kFar);
  TimeAxis widest(kNsMin, kNsMax, 1000);
  widest.zoom(500, 1, 3);
  widest.pan(100'000);
  EXPECT_LT(widest.begin(), widest.end());
}

TEST(TimeAxisTest, AnotherWidthKeepsTheTimes) {
  TimeAxis axis = axisOfRun();
  axis.zoom(200, 1, 7);
  const Nanoseconds begin = axis.begin();
  const Nanoseconds end = axis.end();
  axis.setWidth(311);
  EXPECT_EQ(axis.begin(), begin);
  EXPECT_EQ(axis.end(), end);
  EXPECT_EQ(axis.xOf(end), 311);
}

TEST(TimeAxisTest, AnAlignedViewIsPannedByWholePixels) {
  TimeAxis axis(0, 100 * kNsPerMs, 997);
  axis.zoom(300, 1, 7);
  const Nanoseconds before = axis.span();
  axis.alignToPixels();
  EXPECT_EQ(axis.span() % axis.width(), 0);
  EXPECT_LT(std::abs(axis.span() - before), before / axis.width());
  const TimeAxis unmoved = axis;
  axis.pan(-123);
  for (const int x : {0, 1, 500, 873}) EXPECT_EQ(axis.timeAt(x), unmoved.timeAt(x + 123));
  axis.pan(123);
  EXPECT_EQ(axis.begin(), unmoved.begin());
}

TEST(TimeAxisTest, AViewOfNanosecondsIsNotAligned) {
  TimeAxis axis(0, 100'000, 997);
  axis.zoom(300, 1, 7);
  const Nanoseconds before = axis.span();
  axis.alignToPixels();
  EXPECT_EQ(axis.span(), before) << "rounding would change it by more than a pixel";
}

}  // namespace
}  // namespace pipetrace
