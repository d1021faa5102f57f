#include "chart/chart_view.h"

#include <gmock/gmock.h>

#include <QScrollBar>
#include <QSignalSpy>

#include "viewer/testing/shown_chart.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// A position at that time in that row.
QPoint at(const ShownChart& chart, Nanoseconds time, std::size_t row) {
  const ChartView view = chart.widget().view();
  return {view.xOf(time), view.yOf(view.layout[row].top + view.layout[row].height / 2)};
}

/// A time in no job of the row, away from the edges of jobs.
Nanoseconds farFromJobs(const ShownChart& chart, std::size_t row, Nanoseconds from) {
  const Nanoseconds apart = chart.axis().durationOf(6);
  const LaneIndex& lane = chart.model().rows()[row].lanes[0];
  while (true) {
    bool isFar = true;
    for (std::size_t i = 0; i < lane.size(); ++i) {
      for (const Nanoseconds edge : {lane[i].begin, lane[i].end}) {
        isFar = isFar && std::abs(edge - from) > apart;
      }
    }
    if (isFar) return from;
    from += apart / 2;
  }
}

TEST(AreaTest, DraggingMarksATimeAndTheRowsInBetween) {
  ShownChart chart({.steps = 1});
  const QSignalSpy changes(&chart.widget(), &ChartWidget::areaChanged);
  const Nanoseconds begin = farFromJobs(chart, 1, kTestEpoch + 55 * kNsPerMs);
  const Nanoseconds end = farFromJobs(chart, 4, kTestEpoch + 150 * kNsPerMs);
  chart.drag(at(chart, end, 4), at(chart, begin, 1));
  ASSERT_TRUE(chart.widget().area());
  const auto pixel = static_cast<double>(chart.axis().durationOf(1));
  EXPECT_NEAR(static_cast<double>(chart.widget().area()->time.begin - begin), 0, pixel);
  EXPECT_NEAR(static_cast<double>(chart.widget().area()->time.end - end), 0, pixel);
  EXPECT_THAT(chart.widget().area()->rows, ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(chart.widget().selection()) << "a drag is no click";
  EXPECT_TRUE(chart.widget().isFitted()) << "the view stays";
  EXPECT_GE(changes.count(), 2);
  EXPECT_FALSE(chart.widget().isDraggingArea());
  chart.key(Qt::Key_Escape);
  EXPECT_FALSE(chart.widget().area());
}

/// Covers all rows, as critical paths cover jobs that are not on them.
class Cover : public ChartOverlay {
 public:
  void paint(QPainter& painter, const ChartView& view) override {
    painter.fillRect(view.area.x, view.area.y, view.area.width, view.area.height, Qt::green);
  }
};

TEST(AreaTest, TheLengthOfAnAreaLiesOverAllThatIsDrawnOverRows) {
  ShownChart chart({.steps = 1});
  chart.widget().addOverlay(std::make_unique<Cover>());
  chart.widget().setArea(ChartArea{{kTestEpoch, kTestEpoch + 100 * kNsPerMs}, {0, 1, 2}});
  const QImage picture = chart.widget().viewport()->grab().toImage();
  const QRgb label = chart.widget().palette().color(QPalette::Active, QPalette::Highlight).rgb();
  int pixels = 0;
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) pixels += picture.pixel(x, y) == label ? 1 : 0;
  }
  EXPECT_GT(pixels, 200);
}

TEST(AreaTest, EdgesOfAnAreaSnapToThoseOfJobs) {
  ShownChart chart({.steps = 1});
  const Event& first = chart.job(0, JobKind::kForward, 1);
  const Event& last = chart.job(0, JobKind::kBackward, 2);
  chart.drag(at(chart, first.begin, 0) + QPoint(3, 0), at(chart, last.end, 0) - QPoint(3, 0));
  ASSERT_TRUE(chart.widget().area());
  EXPECT_EQ(chart.widget().area()->time.begin, first.begin);
  EXPECT_EQ(chart.widget().area()->time.end, last.end);
  EXPECT_THAT(chart.widget().area()->rows, ElementsAre(0));
}

TEST(AreaTest, EachEdgeOfTheAreaCanBeDragged) {
  ShownChart chart({.steps = 1});
  ChartWidget& widget = chart.widget();
  const Event& job = chart.job(1, JobKind::kForward, 2);
  const std::size_t row = 3;  // the compute row of rank 1
  const ChartArea old{{job.begin, job.begin + 100 * kNsPerMs}, {row, row + 1, row + 2}};
  widget.setArea(old);
  const Event& later = chart.job(1, JobKind::kBackward, 6);
  chart.drag(at(chart, old.time.end, row), at(chart, later.end, row));
  EXPECT_EQ(widget.area()->time.begin, old.time.begin);
  EXPECT_EQ(widget.area()->time.end, later.end);
  EXPECT_EQ(widget.area()->rows, old.rows);
  const Event& earlier = chart.job(1, JobKind::kForward, 0);
  chart.drag(at(chart, old.time.begin, row), at(chart, earlier.begin, row));
  EXPECT_EQ(widget.area()->time.begin, earlier.begin);
  EXPECT_EQ(widget.area()->time.end, later.end);
  const ChartView view = widget.view();
  const int middle = view.xOf(old.time.begin + 40 * kNsPerMs);
  chart.drag({middle, view.yOf(view.layout[row + 2].bottom())}, {middle, at(chart, 0, row).y()});
  EXPECT_THAT(widget.area()->rows, ElementsAre(row));
  chart.drag({middle, view.yOf(view.layout[row].top)}, {middle, at(chart, 0, 0).y()});
  EXPECT_THAT(widget.area()->rows, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(widget.area()->time.begin, earlier.begin) << "rows and time are apart";
}

TEST(AreaTest, EscapeDuringADragTakesTheAreaAway) {
  ShownChart chart;
  chart.dragWithoutRelease({400, 200}, {700, 300});
  EXPECT_TRUE(chart.widget().area());
  EXPECT_TRUE(chart.widget().isDraggingArea());
  chart.key(Qt::Key_Escape);
  EXPECT_FALSE(chart.widget().area());
  QTest::mouseRelease(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier, {700, 300});
  EXPECT_FALSE(chart.widget().area());
}

TEST(AreaTest, ShiftPansAndTheSwitchTurnsBothAround) {
  ShownChart chart;
  for (int i = 0; i < 4; ++i) chart.key(Qt::Key_W);
  const Nanoseconds begin = chart.axis().begin();
  chart.drag({600, 300}, {500, 300}, Qt::ShiftModifier);
  EXPECT_FALSE(chart.widget().area());
  EXPECT_GT(chart.axis().begin(), begin);
  chart.widget().setDragPans(true);
  chart.drag({500, 300}, {600, 300});
  EXPECT_FALSE(chart.widget().area());
  EXPECT_NEAR(static_cast<double>(chart.axis().begin()), static_cast<double>(begin), 2);
  chart.drag({600, 300}, {500, 300}, Qt::ShiftModifier);
  EXPECT_TRUE(chart.widget().area());
}

TEST(AreaTest, DraggingBeyondTheRowsScrolls) {
  ShownChart chart({.ranks = 32});
  chart.widget().setRowHeight(RowHeights{}.compute);
  chart.widget().verticalScrollBar()->setValue(0);
  for (int i = 0; i < 9; ++i) chart.key(Qt::Key_W);
  ChartWidget& widget = chart.widget();
  widget.panBy(-1000);  // in a real window the keys zoom where the pointer happens to be
  const Nanoseconds end = chart.axis().end();
  const QPoint from(600, 300);
  chart.dragWithoutRelease(from, QPoint(widget.viewport()->width() + 30, 900));
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return chart.axis().begin() > end && widget.verticalScrollBar()->value() > 200; }));
  EXPECT_GT(widget.area()->time.end, end);
  EXPECT_LT(widget.area()->time.begin, end) << "the other edge stays where it was";
  EXPECT_GT(widget.area()->rows.size(), 20U);
  QTest::mouseRelease(widget.viewport(), Qt::LeftButton, Qt::NoModifier, from);
  const Nanoseconds stays = chart.axis().begin();
  QTest::qWait(80);
  EXPECT_EQ(chart.axis().begin(), stays);
}

TEST(AreaTest, AClickSelectsTheJobAndOneBesideTheJobsRemovesTheArea) {
  ShownChart chart({.steps = 1, .hasBubbles = false});
  const Event& job = chart.job(1, JobKind::kForward, 2);
  chart.widget().setArea(ChartArea{{job.begin - kNsPerMs * 20, job.end + 80 * kNsPerMs}, {2, 3}});
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                    chart.middleOf(1, job));
  ASSERT_TRUE(chart.widget().selection());
  EXPECT_EQ(chart.widget().selection()->event, &job);
  EXPECT_TRUE(chart.widget().area());
  const Event& last = chart.job(3, JobKind::kForward, 0);
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                    at(chart, last.begin - 15 * kNsPerMs, 6));
  EXPECT_FALSE(chart.widget().selection());
  EXPECT_FALSE(chart.widget().area());
}

TEST(AreaTest, TheAreaOfAJobIsItsTimeAndItsRow) {
  ShownChart chart;
  chart.widget().selectAreaOfJob();
  EXPECT_FALSE(chart.widget().area()) << "nothing is selected";
  const Event& job = chart.job(2, JobKind::kBackward, 3, 1);
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                    chart.middleOf(2, job));
  chart.widget().selectAreaOfJob();
  ASSERT_TRUE(chart.widget().area());
  EXPECT_EQ(chart.widget().area()->time.begin, job.begin);
  EXPECT_EQ(chart.widget().area()->time.end, job.end);
  EXPECT_THAT(chart.widget().area()->rows, ElementsAre(chart.widget().selection()->row));
}

TEST(AreaTest, TheViewFitsTheAreaAndThenTheWholeRun) {
  ShownChart chart;
  const Nanoseconds whole = chart.axis().span();
  const Event& job = chart.job(2, JobKind::kBackward, 3, 1);
  chart.widget().setArea(ChartArea{{job.begin, job.end}, {0}});
  chart.widget().fitSelection();
  EXPECT_LT(chart.axis().begin(), job.begin);
  EXPECT_GT(chart.axis().end(), job.end);
  EXPECT_LT(chart.axis().span(), job.duration() * 11 / 10);
  chart.widget().fitSelection();
  EXPECT_EQ(chart.axis().span(), whole);
  chart.key(Qt::Key_W);
  chart.key(Qt::Key_Escape);
  chart.widget().fitSelection();
  EXPECT_TRUE(chart.widget().isFitted()) << "nothing is selected";
}

TEST(AreaTest, TheRulerSelectsAStepAndADoubleClickGoesThere) {
  ShownChart chart({.steps = 3});
  const ChartView view = chart.widget().view();
  const StepSpan& step = chart.model().steps()[1];
  const QPoint ruler(view.xOf(step.begin + (step.end - step.begin) / 2), view.area.y - 30);
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier, ruler);
  ASSERT_TRUE(chart.widget().area());
  EXPECT_EQ(chart.widget().area()->time.begin, step.begin);
  EXPECT_EQ(chart.widget().area()->time.end, step.end);
  EXPECT_THAT(chart.widget().area()->rows, SizeIs(chart.model().rows().size()));
  QTest::mouseDClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier, ruler);
  EXPECT_FALSE(chart.widget().isFitted());
  EXPECT_LT(chart.axis().span(), (step.end - step.begin) * 11 / 10);
}

TEST(AreaTest, DraggingAboveTheRowsMarksAllOfThem) {
  ShownChart chart({.steps = 1});
  const int y = chart.widget().view().area.y - 10;
  chart.drag({500, y}, {700, y});
  ASSERT_TRUE(chart.widget().area());
  EXPECT_THAT(chart.widget().area()->rows, SizeIs(chart.model().rows().size()));
}

TEST(AreaTest, ANewModelHasNoArea) {
  ShownChart chart;
  chart.drag({500, 300}, {700, 400});
  ASSERT_TRUE(chart.widget().area());
  const QSignalSpy changes(&chart.widget(), &ChartWidget::areaChanged);
  chart.widget().setModel(&chart.model());
  EXPECT_FALSE(chart.widget().area());
  EXPECT_EQ(changes.count(), 1);
}

TEST(AreaTest, AModelOfTheGrownRunHasTheAreaInTheSameLanes) {
  ShownChart chart({.ranks = 2, .steps = 2, .hasTransfers = false});
  const Timeline grown = makeTestTimeline({.ranks = 2, .steps = 3});
  const ChartModel model(grown);
  const Event& job = chart.job(1, JobKind::kForward, 2);
  chart.widget().setArea(ChartArea{{job.begin, job.end}, {1}});
  const QSignalSpy changes(&chart.widget(), &ChartWidget::areaChanged);
  chart.widget().replaceModel(&model);
  ASSERT_TRUE(chart.widget().area());
  EXPECT_EQ(chart.widget().area()->time.begin, job.begin);
  EXPECT_THAT(chart.widget().area()->rows, ElementsAre(3)) << "rank 0 has two more lanes now";
  EXPECT_EQ(model.rows()[3].rank, 1);
  EXPECT_EQ(changes.count(), 1) << "it does not go and come back";
  chart.widget().setModel(nullptr);
}

TEST(AreaTest, TheAreaIsTintedBetweenItsRowsAndTheRestIsNot) {
  ShownChart chart({.steps = 1});
  const auto picture = [&] { return chart.widget().viewport()->grab().toImage(); };
  const Event& job = chart.job(1, JobKind::kForward, 2);
  const QImage before = picture();
  chart.widget().setArea(ChartArea{{job.begin, job.end}, {2, 3}});
  const QImage after = picture();
  const ChartView view = chart.widget().view();
  const QPoint between(view.xOf(job.begin) + 5, view.yOf(view.layout[3].top) - 4);
  EXPECT_NE(before.pixelColor(between), after.pixelColor(between));
  const QPoint inside(view.xOf(job.begin) + 5, view.yOf(view.layout[3].bottom()) - 8);
  EXPECT_EQ(before.pixelColor(inside), after.pixelColor(inside))
      << "colours say what jobs and bubbles are";
  const QPoint below(inside.x(), view.yOf(view.layout[4].top) + 8);
  EXPECT_EQ(before.pixelColor(below), after.pixelColor(below));
  const QPoint beside(view.xOf(job.end) + 60, inside.y());
  EXPECT_EQ(before.pixelColor(beside), after.pixelColor(beside));
}

}  // namespace
}  // namespace pipetrace
