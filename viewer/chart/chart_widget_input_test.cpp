#include <gmock/gmock.h>

#include <QScrollBar>
#include <QSignalSpy>
#include <QToolTip>
#include <cstdlib>

#include "viewer/chart/row_labels.h"
#include "viewer/testing/shown_chart.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr QPoint kNotchUp{0, 120};
constexpr QPoint kNotchDown{0, -120};

TEST(ChartInputTest, TheWheelZoomsInAroundTheCursor) {
  ShownChart chart;
  const QPoint cursor = chart.middleOf(2, chart.job(2, JobKind::kBackward, 3));
  const Nanoseconds under = chart.axis().timeAt(cursor.x() - chart.widget().view().area.x);
  const Nanoseconds span = chart.axis().span();
  for (int i = 0; i < 8; ++i) chart.wheel(cursor, kNotchUp);
  EXPECT_LT(chart.axis().span(), span / 4);
  EXPECT_LE(std::abs(chart.widget().view().xOf(under) - cursor.x()), 1);
  for (int i = 0; i < 4; ++i) chart.wheel(cursor, kNotchDown, Qt::ControlModifier);
  EXPECT_GT(chart.axis().span(), span / 4);
  EXPECT_LE(std::abs(chart.widget().view().xOf(under) - cursor.x()), 1);
}

TEST(ChartInputTest, HalfANotchTwiceIsANotch) {
  ShownChart chart;
  ShownChart other;
  const QPoint cursor(600, 300);
  chart.wheel(cursor, {0, 60});
  chart.wheel(cursor, {0, 60});
  other.wheel(cursor, kNotchUp);
  EXPECT_NEAR(static_cast<double>(chart.axis().span()), static_cast<double>(other.axis().span()),
              static_cast<double>(other.axis().span()) * 1e-5);
}

TEST(ChartInputTest, ShiftWheelAndSidewaysWheelPan) {
  ShownChart chart;
  chart.key(Qt::Key_W);
  chart.key(Qt::Key_W);
  const Nanoseconds begin = chart.axis().begin();
  const Nanoseconds span = chart.axis().span();
  chart.wheel({600, 300}, kNotchDown, Qt::ShiftModifier);
  EXPECT_EQ(chart.axis().span(), span);
  EXPECT_GT(chart.axis().begin(), begin);
  chart.wheel({600, 300}, {120, 0});
  EXPECT_NEAR(static_cast<double>(chart.axis().begin() - begin), 0.0, 2);
}

TEST(ChartInputTest, DraggingPansWithTheCursorAndSelectsNothing) {
  ShownChart chart;
  for (int i = 0; i < 4; ++i) chart.key(Qt::Key_W);
  const QPoint from = chart.middleOf(1, chart.job(1, JobKind::kBackward, 4, 1));
  const QPoint to = from - QPoint(60, 0);
  const Nanoseconds held = chart.axis().timeAt(from.x() - chart.widget().view().area.x);
  chart.drag(from, to, Qt::ShiftModifier);
  EXPECT_LE(std::abs(chart.widget().view().xOf(held) - to.x()), 2);
  EXPECT_FALSE(chart.widget().selection());
}

TEST(ChartInputTest, KeysZoomPanAndFit) {
  ShownChart chart;
  const Nanoseconds whole = chart.axis().span();
  for (const Qt::Key in : {Qt::Key_W, Qt::Key_Plus, Qt::Key_Equal}) {
    const Nanoseconds span = chart.axis().span();
    chart.key(in);
    EXPECT_LT(chart.axis().span(), span);
  }
  for (const Qt::Key forth : {Qt::Key_D, Qt::Key_Right}) {
    const Nanoseconds begin = chart.axis().begin();
    chart.key(forth);
    EXPECT_NEAR(static_cast<double>(chart.axis().begin() - begin),
                static_cast<double>(chart.axis().span()) / 10,
                static_cast<double>(chart.axis().span()) / 500);
  }
  for (const Qt::Key back : {Qt::Key_A, Qt::Key_Left}) {
    const Nanoseconds begin = chart.axis().begin();
    chart.key(back);
    EXPECT_LT(chart.axis().begin(), begin);
  }
  for (const Qt::Key out : {Qt::Key_S, Qt::Key_Minus}) {
    const Nanoseconds span = chart.axis().span();
    chart.key(out);
    EXPECT_GT(chart.axis().span(), span);
  }
  for (const Qt::Key fit : {Qt::Key_F, Qt::Key_Home, Qt::Key_0}) {
    chart.key(Qt::Key_W);
    EXPECT_FALSE(chart.widget().isFitted());
    chart.key(fit);
    EXPECT_TRUE(chart.widget().isFitted());
    EXPECT_EQ(chart.axis().span(), whole);
  }
}

TEST(ChartInputTest, NAndPWalkThroughTheSteps) {
  ShownChart chart({.steps = 5});
  const auto& steps = chart.model().steps();
  const auto isShown = [&](std::size_t step) {
    return chart.axis().begin() < steps[step].begin && steps[step].end < chart.axis().end() &&
           chart.axis().span() < (steps[step].end - steps[step].begin) * 11 / 10;
  };
  for (std::size_t step = 0; step < 5; ++step) {
    chart.key(step % 2 == 0 ? Qt::Key_N : Qt::Key_PageDown);
    EXPECT_TRUE(isShown(step)) << step;
  }
  chart.key(Qt::Key_N);
  EXPECT_TRUE(isShown(4)) << "the last step stays";
  for (std::size_t step = 4; step-- > 0;) {
    chart.key(step % 2 == 0 ? Qt::Key_P : Qt::Key_PageUp);
    EXPECT_TRUE(isShown(step)) << step;
  }
  chart.key(Qt::Key_F);
  chart.key(Qt::Key_P);
  EXPECT_TRUE(isShown(4)) << "from the whole run to the last step";
}

TEST(ChartInputTest, AClickSelectsTheJobUnderTheCursor) {
  ShownChart chart;
  const QSignalSpy changes(&chart.widget(), &ChartWidget::selectionChanged);
  const Event& job = chart.job(1, JobKind::kForward, 5, 2);
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                    chart.middleOf(1, job));
  ASSERT_TRUE(chart.widget().selection());
  EXPECT_EQ(chart.widget().selection()->event, &job);
  EXPECT_EQ(changes.count(), 1);
  chart.key(Qt::Key_Escape);
  EXPECT_FALSE(chart.widget().selection());
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                    chart.middleOf(0, chart.job(0, JobKind::kForward, 0)));
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(20, 10));
  EXPECT_FALSE(chart.widget().selection()) << "a click beside the rows";
}

TEST(ChartInputTest, HoveringShowsTheNameOfTheJob) {
  ShownChart chart;
  const Event& job = chart.job(2, JobKind::kBackward, 6, 1);
  QTest::mouseMove(chart.widget().viewport(), chart.middleOf(2, job));
  EXPECT_THAT(awaitToolTip("backward 6"), AllOf(HasSubstr("backward 6"), HasSubstr("20.00 ms"),
                                                HasSubstr("Stage"), HasSubstr("Micro-batch")));
  QTest::mouseMove(chart.widget().viewport(), QPoint(600, 4));
  QTest::qWait(400);  // Qt hides a tooltip after a moment
  EXPECT_FALSE(QToolTip::isVisible());
}

TEST(ChartInputTest, AKeyThatMovesTheChartTakesTheTooltipAway) {
  ShownChart chart;
  for (const Qt::Key key : {Qt::Key_D, Qt::Key_B}) {
    QTest::mouseMove(chart.widget().viewport(), QPoint(600, 4));
    const ChartView view = chart.widget().view();
    QPoint at = chart.middleOf(2, chart.job(2, JobKind::kBackward, 6, 1));
    if (!view.area.contains(at.x(), at.y())) at = {view.area.x + view.area.width / 2, at.y()};
    QTest::mouseMove(chart.widget().viewport(), at);
    ASSERT_NE(awaitToolTip("Lane"), "");
    chart.key(key);
    // Qt hides it after a moment.
    EXPECT_TRUE(QTest::qWaitFor([] { return !QToolTip::isVisible(); }, 2000)) << key;
  }
}

TEST(ChartInputTest, HoveringOverALabelShowsItsWholeName) {
  ShownChart chart;
  const ChartView view = chart.widget().view();
  QTest::mouseMove(chart.widget().rowLabels(), QPoint(10, view.layout[2].top + 3));
  EXPECT_THAT(awaitToolTip("Lane"), AllOf(HasSubstr("Lane"), HasSubstr("send")));
}

TEST(ChartInputTest, RowsScrollWhenTheyAreHigherThanTheWindow) {
  ShownChart chart({.ranks = 32, .steps = 1});
  chart.widget().setRowHeight(RowHeights{}.compute);
  QScrollBar* bar = chart.widget().verticalScrollBar();
  ASSERT_GT(bar->maximum(), 0);
  bar->setValue(0);
  const ChartView view = chart.widget().view();
  EXPECT_EQ(bar->maximum(), view.layout.height() - view.area.height);
  chart.wheel({10, 300}, kNotchDown);  // over the labels
  const int notch = QApplication::wheelScrollLines() * bar->singleStep();
  EXPECT_EQ(bar->value(), notch);
  chart.key(Qt::Key_Down);
  EXPECT_EQ(bar->value(), notch + bar->singleStep());
  chart.drag({700, 500}, {700, 400}, Qt::ShiftModifier);
  EXPECT_EQ(bar->value(), notch + bar->singleStep() + 100);
  bar->setValue(bar->maximum());
  const Event& job = chart.job(31, JobKind::kForward, 0);
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                    chart.middleOf(31, job));
  ASSERT_TRUE(chart.widget().selection());
  EXPECT_EQ(chart.widget().selection()->event, &job);
}

TEST(ChartInputTest, NothingHappensWithoutAModel) {
  ChartWidget widget;
  widget.resize(600, 400);
  widget.show();
  QTest::mouseClick(widget.viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(300, 200));
  QTest::mouseMove(widget.viewport(), QPoint(310, 200));
  for (const Qt::Key key :
       {Qt::Key_W, Qt::Key_A, Qt::Key_F, Qt::Key_N, Qt::Key_Down, Qt::Key_Backspace}) {
    QTest::keyClick(&widget, key);
  }
  EXPECT_FALSE(widget.selection());
  EXPECT_FALSE(widget.grab().isNull());
}

}  // namespace
}  // namespace pipetrace
