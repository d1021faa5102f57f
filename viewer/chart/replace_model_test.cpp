#include <gtest/gtest.h>

#include <QScrollBar>

#include "viewer/chart/row_labels.h"
#include "viewer/testing/shown_chart.h"

namespace pipetrace {
namespace {

/// A run that grows from three steps to five.
class ReplaceModelTest : public testing::Test {
 protected:
  static constexpr int kLanes = 8;  // ranks, so that rows can be scrolled

  ShownChart chart_{TestRun{.ranks = kLanes, .steps = 3}, {1000, 400}};
  Timeline grown_ = makeTestTimeline({.ranks = kLanes, .steps = 5});
  ChartModel model_{grown_};
};

TEST_F(ReplaceModelTest, AViewOfTheWholeRunShowsTheGrownRun) {
  chart_.widget().replaceModel(&model_);
  EXPECT_TRUE(chart_.widget().isFitted());
  EXPECT_GT(chart_.axis().end(), grown_.span().end);
}

TEST_F(ReplaceModelTest, AViewOfAStepAndItsScrollAndSelectionStay) {
  chart_.widget().showSteps({1, 1});
  chart_.widget().verticalScrollBar()->setValue(90);
  const Event& job = chart_.job(2, JobKind::kBackward, 3, 1);
  QTest::mouseClick(chart_.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                    chart_.middleOf(2, job));
  ASSERT_TRUE(chart_.widget().selection());
  const TimeAxis before = chart_.axis();
  chart_.widget().replaceModel(&model_);
  EXPECT_EQ(chart_.axis().begin(), before.begin());
  EXPECT_EQ(chart_.axis().end(), before.end());
  EXPECT_EQ(chart_.widget().verticalScrollBar()->value(), 90);
  ASSERT_TRUE(chart_.widget().selection());
  const ChartHit& selection = *chart_.widget().selection();
  EXPECT_NE(selection.event, &job) << "it is the event of the new model";
  EXPECT_EQ(selection.event->begin, job.begin);
  EXPECT_EQ(selection.event->microBatch, 3);
  EXPECT_EQ(model_.rows()[selection.row].rank, 2);
}

TEST_F(ReplaceModelTest, TypingIntoTheFilterGoesOn) {
  RowFilter& filter = *chart_.widget().rowFilter();
  filter.setFocus();
  QTest::keyClicks(&filter, "rak 3");
  filter.setCursorPosition(2);
  chart_.widget().replaceModel(&model_);
  QTest::keyClick(&filter, Qt::Key_N);
  EXPECT_EQ(chart_.widget().rowState().filter, "rank 3");
  EXPECT_EQ(chart_.widget().view().layout.shown().size(), 3U);
  chart_.widget().setModel(nullptr);
}

TEST_F(ReplaceModelTest, FoldedAndFilteredRowsStay) {
  RowState rows;
  rows.folded = {{"rank 3", true}};
  rows.filter = "rank";
  chart_.widget().setRowState(rows);
  chart_.widget().replaceModel(&model_);
  EXPECT_EQ(chart_.widget().rowState(), rows);
  EXPECT_EQ(chart_.widget().view().layout.shown().size(), kLanes + 2U * (kLanes - 1));
  chart_.widget().setModel(nullptr);
}

TEST_F(ReplaceModelTest, AViewOfTheEndMovesOnWithTheRun) {
  chart_.widget().showSteps({2, 2});
  const Nanoseconds span = chart_.axis().span();
  chart_.widget().replaceModel(&model_);
  EXPECT_EQ(chart_.axis().span(), span);
  EXPECT_GE(chart_.axis().end(), grown_.span().end);
}

TEST_F(ReplaceModelTest, ASelectionThatTheNewModelLacksIsDropped) {
  const Timeline other = makeTestTimeline({.ranks = kLanes, .steps = 1, .forward = 7 * kNsPerMs});
  const ChartModel model(other);
  const Event& job = chart_.job(0, JobKind::kBackward, 3, 2);
  QTest::mouseClick(chart_.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                    chart_.middleOf(0, job));
  ASSERT_TRUE(chart_.widget().selection());
  chart_.widget().replaceModel(&model);
  EXPECT_FALSE(chart_.widget().selection());
  chart_.widget().setModel(nullptr);
}

}  // namespace
}  // namespace pipetrace
