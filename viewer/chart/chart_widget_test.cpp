#include "viewer/chart/chart_widget.h"

#include <gtest/gtest.h>

#include <QImage>

#include "viewer/chart/qt_canvas.h"
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
      EXPECT_EQ(cellColor(chart, rank, job), toQColor(jobColor(job)));
    }
  }
}

TEST(ChartWidgetTest, BubblesAreHatched) {
  ShownChart chart({.steps = 1});
  const Event& bubble = chart.model().rows()[0].bubbles[0][0];
  const QImage image = picture(chart);
  const ChartView view = chart.widget().view();
  const int y = view.yOf(view.layout[0].top + 10);
  bool hasLight = false;
  bool hasStroke = false;
  for (int x = view.xOf(bubble.begin) + 2; x < view.xOf(bubble.end) - 2; ++x) {
    const int grey = image.pixelColor(x, y).lightness();
    hasLight = hasLight || grey > 230;
    hasStroke = hasStroke || grey < 222;
  }
  EXPECT_TRUE(hasLight);
  EXPECT_TRUE(hasStroke);
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
  EXPECT_EQ(image.pixelColor(corner * 2), toQColor(jobColor(job)));
}

}  // namespace
}  // namespace pipetrace
