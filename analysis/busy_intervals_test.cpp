#include "analysis/busy_intervals.h"

#include <gtest/gtest.h>

#include "analysis/hand_made_timeline.h"

namespace pipetrace {

void PrintTo(const Interval& interval, std::ostream* out) {
  *out << "[" << interval.begin << ", " << interval.end << ")";
}

namespace {

using Intervals = std::vector<Interval>;

TEST(Unite, OverlappingTouchingAndEmptyIntervalsBecomeOne) {
  Intervals intervals = {{30, 40}, {0, 10}, {5, 8}, {10, 12}, {20, 20}, {35, 50}};
  unite(intervals);
  EXPECT_EQ(intervals, (Intervals{{0, 12}, {30, 50}}));
}

TEST(BusyIntervals, AreOfComputeJobsOfAllLanesOfTheRank) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 0, 10);
  made.add(0, JobKind::kBackward, 8, 20, 0, 0, "second stream");
  made.add(0, JobKind::kOptimizer, 20, 30);
  made.add(1, JobKind::kForward, 40, 50);
  EXPECT_EQ(busyIntervals(made.timeline, 0), (Intervals{{0, 20}}));
  EXPECT_TRUE(busyIntervals(made.timeline, 7).empty());
}

TEST(GapsIn, AreWhatTheWindowHasLeftToTheNanosecond) {
  const Intervals busy = {{0, 10}, {11, 20}, {30, 49}};
  EXPECT_EQ(gapsIn(busy, {0, 50}), (Intervals{{10, 11}, {20, 30}, {49, 50}}));
  EXPECT_EQ(gapsIn(busy, {5, 35}), (Intervals{{10, 11}, {20, 30}}));
  EXPECT_EQ(gapsIn(busy, {12, 18}), Intervals{});
  EXPECT_EQ(gapsIn(busy, {22, 25}), (Intervals{{22, 25}}));
  EXPECT_EQ(gapsIn(busy, {60, 61}), (Intervals{{60, 61}}));
  EXPECT_EQ(gapsIn({}, {0, 5}), (Intervals{{0, 5}}));
  EXPECT_EQ(gapsIn(busy, {7, 7}), Intervals{});
}

TEST(BusyIn, CountsOnlyWhatIsInsideTheWindow) {
  const Intervals busy = {{0, 10}, {11, 20}, {30, 49}};
  EXPECT_EQ(busyIn(busy, {0, 50}), 38);
  EXPECT_EQ(busyIn(busy, {5, 35}), 5 + 9 + 5);
  EXPECT_EQ(busyIn(busy, {20, 30}), 0);
  EXPECT_EQ(busyIn(busy, {12, 18}), 6);
  EXPECT_EQ(busyIn(busy, {7, 7}), 0);
}

}  // namespace
}  // namespace pipetrace
