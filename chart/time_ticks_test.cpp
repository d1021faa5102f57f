#include "chart/time_ticks.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;

constexpr Nanoseconds kStartOfRun = 1'697'793'307'213'760'986;
constexpr int kGap = 10;

int labelWidth(std::string_view text) { return 7 * static_cast<int>(text.size()); }

std::vector<Tick> ticksOf(const TimeAxis& axis) {
  return timeTicks(axis, kStartOfRun, labelWidth, kGap);
}

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks) texts.push_back(tick.label);
  return texts;
}

/// The label read back with strtod, in ns.
double valueOf(const std::string& label) {
  char* end = nullptr;
  const double value = std::strtod(label.c_str(), &end);
  const std::string unit = end;
  if (unit == " s") return value * 1e9;
  if (unit == " ms") return value * 1e6;
  if (unit == " us") return value * 1e3;
  EXPECT_TRUE(unit == " ns" || label == "0") << label;
  return value;
}

TEST(TimeTicksTest, AreRoundTimesFromTheOrigin) {
  TimeAxis axis(kStartOfRun, kStartOfRun + 100 * kNsPerMs, 1000);
  EXPECT_THAT(labels(ticksOf(axis)), ElementsAre("0", "10 ms", "20 ms", "30 ms", "40 ms", "50 ms",
                                                 "60 ms", "70 ms", "80 ms", "90 ms", ""))
      << "the last label would stick out";
}

TEST(TimeTicksTest, AllLabelsHaveOneUnitAndTheDecimalsOfTheirDistance) {
  TimeAxis axis(kStartOfRun, kStartOfRun + 1'100 * kNsPerMs, 1000);
  EXPECT_THAT(labels(ticksOf(axis)), IsSupersetOf({"0.2 s", "0.6 s", "1.0 s"}));
  axis.show(kStartOfRun + 1'000'000'500, kStartOfRun + 1'000'000'900);
  EXPECT_THAT(labels(ticksOf(axis)), IsSupersetOf({"1.00000060 s", "1.00000085 s"}));
}

TEST(TimeTicksTest, AtEveryZoomTheyAscendWithTrueLabelsThatDoNotTouch) {
  TimeAxis axis(kStartOfRun, kStartOfRun + 7'213 * kNsPerMs, 1234);
  std::set<Nanoseconds> mantissas;
  for (int zooms = 0; zooms < 90; ++zooms) {
    const auto ticks = ticksOf(axis);
    ASSERT_GE(ticks.size(), 2U) << axis.span();
    int freeFrom = 0;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      if (i > 0) {
        ASSERT_GT(ticks[i].time, ticks[i - 1].time);
        ASSERT_GT(ticks[i].x, ticks[i - 1].x);
      }
      EXPECT_EQ(ticks[i].x, axis.xOf(ticks[i].time));
      if (ticks[i].label.empty()) continue;
      EXPECT_NEAR(valueOf(ticks[i].label), static_cast<double>(ticks[i].time - kStartOfRun), 0.5);
      const int width = labelWidth(ticks[i].label);
      EXPECT_GE(ticks[i].x - width / 2, freeFrom);
      freeFrom = ticks[i].x - width / 2 + width + kGap;
      EXPECT_LE(freeFrom - kGap, axis.width());
    }
    Nanoseconds distance = ticks[1].time - ticks[0].time;
    while (distance % 10 == 0) distance /= 10;
    mantissas.insert(distance);
    axis.zoom(777, 4, 5);
  }
  EXPECT_THAT(mantissas, ElementsAre(1, 2, 5));
}

TEST(TimeLabelTest, HasTheDecimalsOfTheResolution) {
  EXPECT_EQ(timeLabel(12'345'678, 12'345'678, 1'000), "12.345 ms");
  EXPECT_EQ(timeLabel(12'345'678, 12'345'678, 1), "12.345678 ms");
  EXPECT_EQ(timeLabel(12'345'678, kNsPerSecond, 500'000), "0.0123 s");
  EXPECT_EQ(timeLabel(12'345'678, kNsPerMs, 7 * kNsPerMs), "12 ms");
  EXPECT_EQ(timeLabel(-250, 999, 0), "-250 ns");
  EXPECT_EQ(timeLabel(0, kNsPerSecond, 1), "0");
}

TEST(TimeTicksTest, ANarrowAxisHasFewAndAWideOneMany) {
  EXPECT_LE(ticksOf(TimeAxis(kStartOfRun, kStartOfRun + kNsPerSecond, 120)).size(), 3U);
  EXPECT_GE(ticksOf(TimeAxis(kStartOfRun, kStartOfRun + kNsPerSecond, 4000)).size(), 20U);
  ticksOf(TimeAxis(kStartOfRun, kStartOfRun + kNsPerSecond, 1));  // does not hang
}

TEST(TimeTicksTest, TheLargestTimesDoNotOverflow) {
  const TimeAxis axis(kNsMin, kNsMax, 1000);
  EXPECT_FALSE(timeTicks(axis, 0, labelWidth, kGap).empty());
}

}  // namespace
}  // namespace pipetrace
