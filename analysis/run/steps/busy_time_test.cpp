#include "analysis/run/steps/busy_time.h"

#include <gtest/gtest.h>

#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {

void PrintTo(const Interval& interval, std::ostream* out) {
  *out << "[" << interval.begin << ", " << interval.end << ")";
}

namespace {

using Intervals = std::vector<Interval>;

HandMadeTimeline madeOf(const Intervals& jobs) {
  HandMadeTimeline made;
  for (const Interval& job : jobs) made.add(0, JobKind::kForward, job.begin, job.end);
  made.timeline.sort();
  return made;
}

Intervals gapsIn(BusyTime& busy, Interval window) {
  Intervals gaps;
  busy.visitGaps(window, [&](const Interval& gap) { gaps.push_back(gap); });
  return gaps;
}

Intervals gapsOf(const Timeline& timeline, Interval window, int rank = 0) {
  BusyTime busy(timeline, rank);
  return gapsIn(busy, window);
}

Nanoseconds busyOf(const Timeline& timeline, Interval window) {
  return BusyTime(timeline, 0).in(window);
}

TEST(BusyTime, OverlappingTouchingAndEmptyJobsBecomeOne) {
  const auto made = madeOf({{30, 40}, {0, 10}, {5, 8}, {10, 12}, {20, 20}, {35, 50}});
  EXPECT_EQ(gapsOf(made.timeline, {0, 60}), (Intervals{{12, 30}, {50, 60}}));
}

TEST(BusyTime, IsOfComputeJobsOfAllLanesOfTheRank) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 0, 10);
  made.add(0, JobKind::kForward, 25, 27);
  made.add(0, JobKind::kBackward, 8, 20, 0, 0, "second stream");
  made.add(0, JobKind::kRecompute, 21, 22, 0, 0, "third stream");
  made.add(0, JobKind::kOptimizer, 20, 30);
  made.add(1, JobKind::kForward, 40, 50);
  made.timeline.sort();
  EXPECT_EQ(gapsOf(made.timeline, {0, 30}), (Intervals{{20, 21}, {22, 25}, {27, 30}}));
  EXPECT_EQ(gapsOf(made.timeline, {0, 30}, 7), (Intervals{{0, 30}}));
}

TEST(BusyTime, LeavesGapsToTheNanosecond) {
  const auto made = madeOf({{0, 10}, {11, 20}, {30, 49}});
  EXPECT_EQ(gapsOf(made.timeline, {0, 50}), (Intervals{{10, 11}, {20, 30}, {49, 50}}));
  EXPECT_EQ(gapsOf(made.timeline, {5, 35}), (Intervals{{10, 11}, {20, 30}}));
  EXPECT_EQ(gapsOf(made.timeline, {12, 18}), Intervals{});
  EXPECT_EQ(gapsOf(made.timeline, {22, 25}), (Intervals{{22, 25}}));
  EXPECT_EQ(gapsOf(made.timeline, {60, 61}), (Intervals{{60, 61}}));
  EXPECT_EQ(gapsOf(Timeline(), {0, 5}), (Intervals{{0, 5}}));
  EXPECT_EQ(gapsOf(made.timeline, {7, 7}), Intervals{});
}

TEST(BusyTime, CountsOnlyWhatIsInsideTheWindow) {
  const auto made = madeOf({{0, 10}, {11, 20}, {30, 49}});
  EXPECT_EQ(busyOf(made.timeline, {0, 50}), 38);
  EXPECT_EQ(busyOf(made.timeline, {5, 35}), 5 + 9 + 5);
  EXPECT_EQ(busyOf(made.timeline, {20, 30}), 0);
  EXPECT_EQ(busyOf(made.timeline, {12, 18}), 6);
  EXPECT_EQ(busyOf(made.timeline, {7, 7}), 0);
}

TEST(BusyTime, JobThatReachesIntoTheNextWindowsCountsThereToo) {
  const auto made = madeOf({{0, 100}, {110, 120}});
  BusyTime busy(made.timeline, 0);
  EXPECT_EQ(busy.in({10, 40}), 30);
  EXPECT_EQ(busy.in({40, 40}), 0);
  EXPECT_EQ(busy.in({50, 60}), 10);
  EXPECT_EQ(busy.in({90, 115}), 10 + 5);
  EXPECT_EQ(gapsIn(busy, {115, 130}), (Intervals{{120, 130}}));
}

}  // namespace
}  // namespace pipetrace
