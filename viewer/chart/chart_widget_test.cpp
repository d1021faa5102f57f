#include "viewer/chart/chart_widget.h"

#include <gtest/gtest.h>

#include <QImage>

#include "chart/testing/paper_colors.h"
#include "viewer/paint/qt_canvas.h"
#include "viewer/testing/shown_chart.h"

namespace pipetrace {
namespace {

QImage picture(ShownChart& chart) { return chart.widget().viewport()->grab().toImage(); }

/// The colour in the upper left of a job's cell, where there is no number.
QColor cellColor(ShownChart& chart, int rank, const Event& job) {
  const ChartView view = chart.widget().view();
  const int top = chart.middleOf(rank, job).y() - view.layout[0].height / 2;
  return picture(chart).pixelColor(view.xOf(job.begin) + 2, top + 2);
}

TEST(ChartWidgetTest, JobsHaveTheColourOfTheirKind) {
  ShownChart chart({.steps = 1});
  for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
    for (int rank = 0; rank < 4; ++rank) {
      const Event& job = chart.job(rank, kind, 3);
      EXPECT_EQ(cellColor(chart, rank, job), toQColor(kPaperColors.of(job)));
    }
  }
}

TEST(ChartWidgetTest, BubblesAreHatchedInTheTintOfTheirClass) {
  Timeline timeline = makeTestTimeline({.steps = 1});
  int next = 0;
  for (Event& bubble : timeline.track(0, kBubbleLane).events) {
    bubble.bubbleClass = static_cast<BubbleClass>(1 + next++ % (kBubbleClassCount - 1));
  }
  ShownChart chart(std::move(timeline), {3000, 640});
  const QImage image = picture(chart);
  const ChartView view = chart.widget().view();
  int seen = 0;
  const LaneIndex& bubbles = chart.model().rows()[0].bubbles[0];
  for (std::size_t i = 0; i < bubbles.size(); ++i) {
    const int left = view.xOf(bubbles[i].begin) + 1;
    // Whole periods of the hatching, above the text.
    const int width = (view.xOf(bubbles[i].end) - 1 - left) / kHatchSpacing * kHatchSpacing;
    if (width < kHatchSpacing) continue;
    ++seen;
    const int top = view.yOf(view.layout[0].top) + 1;
    double red = 0;
    bool hasGround = false;
    const Hatching hatching = kPaperTheme.hatchingOf(bubbles[i].bubbleClass);
    for (int x = left; x < left + width; ++x) {
      for (int y = top; y < top + kHatchSpacing; ++y) {
        red += image.pixelColor(x, y).red();
        hasGround = hasGround || image.pixelColor(x, y) == toQColor(hatching.ground);
      }
    }
    EXPECT_TRUE(hasGround);
    EXPECT_NEAR(red / (width * kHatchSpacing), kPaperTheme.tintOf(bubbles[i].bubbleClass).red, 4)
        << bubbleClassName(bubbles[i].bubbleClass);
  }
  EXPECT_GT(seen, 3);
}

TEST(ChartWidgetTest, MicroBatchNumbersAreWrittenInTheCells) {
  ShownChart chart({.steps = 1});
  const Event& job = chart.job(1, JobKind::kBackward, 2);
  const QPoint middle = chart.middleOf(1, job);
  const QImage image = picture(chart).copy(middle.x() - 6, middle.y() - 6, 12, 12);
  int dark = 0;
  for (int x = 0; x < image.width(); ++x) {
    for (int y = 0; y < image.height(); ++y)
      dark += image.pixelColor(x, y).lightness() < 60 ? 1 : 0;
  }
  EXPECT_GT(dark, 5);
}

TEST(ChartWidgetTest, ZoomedOutColumnsAreAsHighAsTheirShare) {
  // Every step has 8 idle ms of 18 and no bubbles: idle time has the colour of the paper.
  ShownChart chart({.ranks = 1,
                    .microBatches = 1,
                    .steps = 2000,
                    .forward = 3 * kNsPerMs,
                    .backward = 3 * kNsPerMs,
                    .hasTransfers = false,
                    .hasBubbles = false});
  const ChartView view = chart.widget().view();
  const QImage image = picture(chart);
  const int x = view.area.x + view.area.width / 2;
  const int column = x - view.area.x;
  const LaneIndex& lane = chart.model().rows()[0].lanes[0];
  const auto load = lane.load(view.axis.timeAt(column), view.axis.timeAt(column + 1));
  const int top = view.yOf(view.layout[0].top);
  const int height = view.layout[0].height;
  int filled = 0;
  for (int y = top; y < top + height; ++y) {
    if (image.pixelColor(x, y) == toQColor(load.color)) ++filled;
  }
  const auto span = static_cast<double>(view.axis.timeAt(column + 1) - view.axis.timeAt(column));
  EXPECT_NEAR(filled, static_cast<double>(load.busy) / span * height, 1.0);
}

TEST(ChartWidgetTest, IdleTimeInColumnsIsAsHighAsItsShareInEveryTheme) {
  // Every step has 8 idle ms of 18, all of it one class.
  Timeline timeline = makeTestTimeline({.ranks = 2,
                                        .microBatches = 1,
                                        .steps = 2000,
                                        .forward = 3 * kNsPerMs,
                                        .backward = 3 * kNsPerMs,
                                        .hasTransfers = false});
  for (Event& bubble : timeline.track(0, kBubbleLane).events) {
    bubble.bubbleClass = BubbleClass::kImbalance;
  }
  ShownChart chart(std::move(timeline));
  for (const Theme& theme : {themeOf(ThemeName::kColourBlind), themeOf(ThemeName::kPaddle, true)}) {
    chart.setTheme(theme);
    const ChartView view = chart.widget().view();
    const QImage image = picture(chart);
    const int column = view.area.width / 3;
    const auto load = chart.model().rows()[0].bubbles[0].load(view.axis.timeAt(column),
                                                              view.axis.timeAt(column + 1));
    EXPECT_EQ(load.color, theme.tintOf(BubbleClass::kImbalance));
    const int top = view.yOf(view.layout[0].top);
    const int height = view.layout[0].height;
    int filled = 0;
    for (int y = top; y < top + height; ++y) {
      if (image.pixelColor(view.area.x + column, y) == toQColor(load.color)) ++filled;
    }
    const auto span = static_cast<double>(view.axis.timeAt(column + 1) - view.axis.timeAt(column));
    EXPECT_NEAR(filled, static_cast<double>(load.busy) / span * height, 1.0);
  }
}

TEST(ChartWidgetTest, ASelectedJobIsOutlined) {
  ShownChart chart({.steps = 1});
  const Event& job = chart.job(2, JobKind::kForward, 4);
  const QImage before = picture(chart);
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                    chart.middleOf(2, job));
  const QImage after = picture(chart);
  const ChartView view = chart.widget().view();
  const QPoint edge(view.xOf(job.begin), chart.middleOf(2, job).y() + 8);
  EXPECT_NE(before.pixelColor(edge), after.pixelColor(edge));
  EXPECT_LT(after.pixelColor(edge).lightness(), 60);
}

TEST(ChartWidgetTest, AResizedWindowStillShowsTheWholeRun) {
  ShownChart chart;
  const Nanoseconds span = chart.axis().span();
  chart.widget().resize(700, 500);
  QCoreApplication::processEvents();
  EXPECT_EQ(chart.axis().span(), span);
  EXPECT_EQ(chart.axis().width(), chart.widget().view().area.width);
  EXPECT_LT(chart.widget().view().area.right(), 700);
}

TEST(ChartWidgetTest, FewRowsUseTheHeightOfTheWindow) {
  ShownChart chart({.ranks = 4}, {1200, 700});
  const ChartView view = chart.widget().view();
  EXPECT_LE(view.layout.height(), view.area.height);
  EXPECT_GT(view.layout.height(), view.area.height * 9 / 10);
  EXPECT_GT(view.layout[0].height, RowHeights{}.compute);
}

TEST(ChartWidgetTest, HighResolutionScreensShowTheSameChart) {
  ShownChart chart({.steps = 1});
  QImage image(chart.widget().viewport()->size() * 2, QImage::Format_RGB32);
  image.setDevicePixelRatio(2);
  chart.widget().viewport()->render(&image);
  const Event& job = chart.job(0, JobKind::kForward, 1);
  const ChartView view = chart.widget().view();
  const QPoint corner(view.xOf(job.begin) + 2, view.yOf(view.layout[0].top + 2));
  EXPECT_EQ(image.pixelColor(corner * 2), toQColor(kPaperColors.of(job)));
}

}  // namespace
}  // namespace pipetrace
