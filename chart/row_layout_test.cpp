#include "chart/row_layout.h"

#include <gtest/gtest.h>

#include "chart/chart_model.h"
#include "chart/testing/timelines.h"

namespace pipetrace {
namespace {

TEST(ChartModelTest, BubblesAreInTheComputeRowAndTheOtherLanesBelowIt) {
  const Timeline timeline = makeTestTimeline({.ranks = 2});
  const ChartModel model(timeline);
  ASSERT_EQ(model.rows().size(), 6U);
  for (std::size_t i = 0; i < 6; i += 3) {
    const ChartRow& compute = model.rows()[i];
    EXPECT_TRUE(compute.isCompute);
    EXPECT_EQ(compute.rankLabel, "rank " + std::to_string(i / 3));
    EXPECT_EQ(compute.rankDetail, "stage " + std::to_string(i / 3));
    ASSERT_EQ(compute.bubbles.size(), 1U);
    EXPECT_GT(compute.bubbles[0].size(), 0U);
    EXPECT_EQ(model.rows()[i + 1].lane, "recv");
    EXPECT_EQ(model.rows()[i + 2].lane, "send");
    EXPECT_TRUE(model.rows()[i + 1].rankLabel.empty());
  }
  EXPECT_EQ(model.rankCount(), 2U);
  EXPECT_EQ(model.jobCount() + model.transferCount() + model.rows()[0].bubbles[0].size() +
                model.rows()[3].bubbles[0].size(),
            timeline.eventCount());
  // A step of a rank has lr, 8 forwards, 8 backwards and an optimizer. A message is a send and a
  // recv.
  EXPECT_EQ(model.jobCount(), 2U * 3U * 18U);
  EXPECT_EQ(model.transferCount(), 3U * 2U * 8U * 2U);
  EXPECT_EQ(model.typicalJob(), 10 * kNsPerMs);
}

TEST(ChartModelTest, OverlappingEventsGetSubLanes) {
  Timeline timeline;
  Track& track = timeline.track(0, "copy");
  for (int i = 0; i < 3; ++i) {
    track.events.push_back({.begin = 10 * i, .end = 10 * i + 25, .kind = JobKind::kCopy});
  }
  const ChartModel model(timeline);
  ASSERT_EQ(model.rows().size(), 1U);
  EXPECT_EQ(model.rows()[0].lanes.size(), 3U);
}

TEST(ChartModelTest, ARankThatOnlyIdlesHasAComputeRow) {
  Timeline timeline;
  timeline.track(3, kBubbleLane).events.push_back({.begin = 0, .end = 5, .kind = JobKind::kBubble});
  const ChartModel model(timeline);
  ASSERT_EQ(model.rows().size(), 1U);
  EXPECT_TRUE(model.rows()[0].isCompute);
  EXPECT_EQ(model.rows()[0].bubbles.at(0).size(), 1U);
}

TEST(ChartModelTest, StepsBeginWithTheirFirstForward) {
  const Timeline timeline = makeTestTimeline({.steps = 3});
  const ChartModel model(timeline);
  ASSERT_EQ(model.steps().size(), 3U);
  EXPECT_EQ(model.steps()[0].begin, kTestEpoch + kNsPerMs / 10);  // after lr
  EXPECT_EQ(model.steps()[1].begin, model.steps()[0].end + kNsPerMs / 10);
  const auto both = spanOfSteps(model.steps(), 1, 2);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->begin, model.steps()[1].begin);
  EXPECT_EQ(both->end, model.steps()[2].end);
  EXPECT_FALSE(spanOfSteps(model.steps(), 3, 9));
}

TEST(RowLayoutTest, RowsDoNotOverlapAndRanksAreFurtherApart) {
  const Timeline timeline = makeTestTimeline({.ranks = 3});
  const ChartModel model(timeline);
  const RowHeights heights;
  const RowLayout layout(model.rows(), heights);
  ASSERT_EQ(layout.size(), 9U);
  for (std::size_t i = 1; i < layout.size(); ++i) {
    const int gap = layout[i].top - layout[i - 1].bottom();
    EXPECT_EQ(gap, i % 3 == 0 ? heights.rankGap : heights.laneGap);
  }
  EXPECT_GT(layout[0].height, layout[1].height) << "compute rows are taller";
  EXPECT_GE(layout.height(), layout[8].bottom());
}

TEST(RowLayoutTest, FindsTheRowAtAHeight) {
  const Timeline timeline = makeTestTimeline({.ranks = 2});
  const ChartModel model(timeline);
  const RowLayout layout(model.rows(), RowHeights{});
  for (std::size_t i = 0; i < layout.size(); ++i) {
    EXPECT_EQ(layout.rowAt(layout[i].top), i);
    EXPECT_EQ(layout.rowAt(layout[i].bottom() - 1), i);
    EXPECT_EQ(layout.rowAt(layout[i].bottom()), std::nullopt);
  }
  EXPECT_EQ(layout.rowAt(-1), std::nullopt);
  EXPECT_EQ(layout.rowAt(layout.height()), std::nullopt);
}

TEST(RowLayoutTest, SubLanesFillTheirRow) {
  const RowPlace row{100, 37};
  int y = 100;
  for (std::size_t i = 0; i < 3; ++i) {
    const RowPlace lane = RowLayout::subLane(row, i, 3);
    EXPECT_EQ(lane.top, y);
    y = lane.bottom() + 1;
  }
  EXPECT_EQ(y, 100 + 37);
}

TEST(FittingHeightsTest, FillTheHeightAndNoMore) {
  const Timeline timeline = makeTestTimeline({.ranks = 8});
  const ChartModel model(timeline);
  for (const int available : {300, 500, 700, 1500}) {
    const auto heights = fittingHeights(model.rows(), available);
    ASSERT_TRUE(heights) << available;
    const int height = RowLayout(model.rows(), *heights).height();
    EXPECT_LE(height, available);
    EXPECT_GE(height, available * 8 / 10) << available;
  }
}

TEST(FittingHeightsTest, LeaveOutOtherLanesBeforeComputeRowsBecomeIllegible) {
  const Timeline timeline = makeTestTimeline({.ranks = 64, .steps = 1});
  const ChartModel model(timeline);
  const auto low = fittingHeights(model.rows(), 760);
  ASSERT_TRUE(low);
  EXPECT_EQ(low->lane, 0);
  const auto high = fittingHeights(model.rows(), 4000);
  ASSERT_TRUE(high);
  EXPECT_GT(high->lane, 0);
  EXPECT_EQ(fittingHeights(model.rows(), 100), std::nullopt);
}

class WindowHeightsTest : public testing::Test {
 protected:
  static constexpr int kWindow = 560;

  explicit WindowHeightsTest(int ranks = 256)
      : timeline(makeTestTimeline({.ranks = ranks, .microBatches = 1, .steps = 1})),
        model(timeline),
        shown(shownRows(model.rowTree(RowGrouping::kByRank), {})) {}

  RowHeights heights(int wanted) const {
    return windowHeights(model.rows(), shown, wanted, kWindow);
  }
  int heightWith(const RowHeights& of) const { return RowLayout(model.rows(), shown, of).height(); }

  Timeline timeline;
  ChartModel model;
  ShownRows shown;
};

TEST_F(WindowHeightsTest, AllRanksAreInViewAtAFewPixels) {
  const RowHeights low = heights(RowState::kAllInView);
  EXPECT_EQ(low.compute, 2);
  EXPECT_EQ(low.lane, 0);
  EXPECT_LE(heightWith(low), kWindow);
}

TEST_F(WindowHeightsTest, ManyRanksOpenWithRowsThatStillHaveNames) {
  const RowHeights opened = heights(RowState::kUsualHeight);
  EXPECT_EQ(opened.compute + opened.rankGap, 12);
  EXPECT_GE(kWindow / (opened.compute + opened.rankGap), 40) << "ranks in view";
}

TEST_F(WindowHeightsTest, APixelIsTheLowest) {
  EXPECT_EQ(windowHeights(model.rows(), shown, RowState::kAllInView, 100).compute, 1);
  EXPECT_EQ(heights(1).compute, 1);
}

class FewRanksHeightsTest : public WindowHeightsTest {
 protected:
  FewRanksHeightsTest() : WindowHeightsTest(8) {}
};

TEST_F(FewRanksHeightsTest, RowsThatNearlyFitBecomeALittleLowerSoThatTheLastOneIsWhole) {
  const int whole = heightWith(RowHeights{});
  const auto in = [&](int available) {
    return windowHeights(model.rows(), shown, RowState::kUsualHeight, available);
  };
  const RowHeights lower = in(whole * 9 / 10);
  EXPECT_LT(lower.compute, RowHeights{}.compute);
  EXPECT_LE(heightWith(lower), whole * 9 / 10);
  EXPECT_EQ(in(whole * 6 / 10), RowHeights{}) << "they scroll";
  EXPECT_LE(heightWith(heights(RowState::kAllInView)), kWindow);
}

TEST(RowHeightsTest, LowRowsLeaveOtherLanesOut) {
  EXPECT_EQ(heightsOf(38), RowHeights{});
  EXPECT_GT(heightsOf(kLegibleComputeHeight).lane, 0);
  EXPECT_EQ(heightsOf(kLegibleComputeHeight - 1).lane, 0);
  EXPECT_EQ(heightsOf(2), (RowHeights{2, 0, 0, 0}));
}

TEST(RowHeightsTest, StepsLeadFromTheHighestToTheLowestRowsAndBack) {
  int height = RowHeights{}.compute;
  int steps = 0;
  while (nextComputeHeight(height, false) < height) {
    const int lower = nextComputeHeight(height, false);
    EXPECT_EQ(nextComputeHeight(lower, true), height);
    height = lower;
    ++steps;
  }
  EXPECT_EQ(height, 1);
  EXPECT_EQ(steps, 10);
  EXPECT_EQ(nextComputeHeight(9, true), 11);
  EXPECT_EQ(nextComputeHeight(9, false), 8);
  EXPECT_EQ(nextComputeHeight(114, true), 114);
}

TEST(RowLayoutTest, ARowThatIsLeftOutLiesInTheMiddleOfItsRank) {
  const Timeline timeline = makeTestTimeline({.ranks = 2});
  const ChartModel model(timeline);
  const RowLayout layout(model.rows(), heightsOf(10));
  EXPECT_TRUE(layout.isShown(0));
  EXPECT_FALSE(layout.isShown(1));
  EXPECT_EQ(layout[2].top, layout[0].top + 5);
  EXPECT_EQ(layout[2].height, 0);
  EXPECT_EQ(layout.rowAt(layout[0].bottom()), std::nullopt);
}

}  // namespace
}  // namespace pipetrace
