#include <gmock/gmock.h>

#include <QNativeGestureEvent>
#include <QPointingDevice>
#include <QScrollBar>
#include <QSignalSpy>
#include <cmath>

#include "viewer/chart/chart_commands.h"
#include "viewer/testing/shown_chart.h"

// Keys that are held, keys that fit, and trackpads.
namespace pipetrace {
namespace {

/// A chart in the middle of its run.
struct ZoomedIn : ShownChart {
  explicit ZoomedIn(const TestRun& run = {}) : ShownChart(run) {
    for (int i = 0; i < 10; ++i) wheel({600, 300}, {0, 120});
  }
  void trackpad(QPoint position, QPoint pixels, Qt::KeyboardModifiers modifiers = {}) {
    QWidget* viewport = widget().viewport();
    QWheelEvent event(position, viewport->mapToGlobal(position), pixels, pixels * 8, Qt::NoButton,
                      modifiers, Qt::ScrollUpdate, false);
    QCoreApplication::sendEvent(viewport, &event);
  }
};

double tenthsMoved(const ShownChart& chart, Nanoseconds from) {
  return 10.0 * static_cast<double>(chart.axis().begin() - from) /
         static_cast<double>(chart.axis().span());
}

TEST(ChartKeysTest, AKeyThatIsHeldMovesOnFrameByFrame) {
  ZoomedIn chart;
  const Nanoseconds from = chart.axis().begin();
  QTest::keyPress(&chart.widget(), Qt::Key_D);
  EXPECT_NEAR(tenthsMoved(chart, from), 1, 0.02) << "the first step comes at once";
  QSignalSpy frames(&chart.widget(), &ChartWidget::viewChanged);
  ASSERT_TRUE(QTest::qWaitFor([&] { return tenthsMoved(chart, from) > 3; }, 20'000));
  EXPECT_GT(frames.count(), 3) << "in small steps";
  QTest::keyRelease(&chart.widget(), Qt::Key_D);
  const Nanoseconds released = chart.axis().begin();
  QTest::qWait(250);
  EXPECT_EQ(chart.axis().begin(), released);
}

TEST(ChartKeysTest, AHeldZoomKeepsItsCentre) {
  ZoomedIn chart;
  const Nanoseconds span = chart.axis().span();
  QTest::keyPress(&chart.widget(), Qt::Key_S);
  ASSERT_TRUE(QTest::qWaitFor([&] { return chart.axis().span() > 2 * span; }, 20'000));
  QTest::keyRelease(&chart.widget(), Qt::Key_S);
}

TEST(ChartKeysTest, ACommandFromAMenuTakesOneStep) {
  ZoomedIn chart;
  const Nanoseconds from = chart.axis().begin();
  for (QAction* action : commandsOf(chart.widget(), CommandMenu::kView)) {
    if (action->objectName() == "later") action->trigger();
  }
  QTest::qWait(300);
  EXPECT_NEAR(tenthsMoved(chart, from), 1, 0.02);
}

TEST(ChartKeysTest, FShowsTheSelectionAndThenTheRun) {
  ShownChart chart;
  const Event& job = chart.job(1, JobKind::kForward, 5, 2);
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, {}, chart.middleOf(1, job));
  chart.key(Qt::Key_F);
  EXPECT_LE(chart.axis().begin(), job.begin);
  EXPECT_GE(chart.axis().end(), job.end);
  EXPECT_LT(chart.axis().span(), 2 * job.duration());
  chart.key(Qt::Key_F);
  EXPECT_TRUE(chart.widget().isFitted());
  chart.key(Qt::Key_F);
  EXPECT_LT(chart.axis().span(), 2 * job.duration()) << "and back";
}

TEST(ChartKeysTest, BGoesFromTheLongestBubbleToShorterOnesAndShiftBBack) {
  ShownChart chart;
  Nanoseconds longest = 0;
  for (const ChartRow& row : chart.model().rows()) {
    for (const LaneIndex& lane : row.bubbles) {
      for (std::size_t i = 0; i < lane.size(); ++i) {
        longest = std::max(longest, lane[i].duration());
      }
    }
  }
  ASSERT_GT(longest, 0);
  chart.widget().showTime(0, 5 * kNsPerMs);
  chart.key(Qt::Key_B);
  ASSERT_TRUE(chart.widget().selection());
  const Event* const first = chart.widget().selection()->event;
  EXPECT_EQ(first->duration(), longest);
  EXPECT_LE(chart.axis().begin(), first->begin) << "it is in view";
  EXPECT_GE(chart.axis().end(), first->end);
  chart.key(Qt::Key_B);
  const Event* const second = chart.widget().selection()->event;
  EXPECT_NE(second, first);
  EXPECT_LE(second->duration(), longest);
  chart.key(Qt::Key_B, Qt::ShiftModifier);
  EXPECT_EQ(chart.widget().selection()->event, first);
  chart.key(Qt::Key_B, Qt::ShiftModifier);
  EXPECT_EQ(chart.widget().selection()->event, first) << "nothing is longer";
}

TEST(ChartKeysTest, ADoubleClickZoomsToTheJob) {
  ShownChart chart;
  const Event& job = chart.job(2, JobKind::kBackward, 3, 1);
  const QPoint middle = chart.middleOf(2, job);
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, {}, middle);
  QTest::mouseDClick(chart.widget().viewport(), Qt::LeftButton, {}, middle);
  EXPECT_EQ(chart.widget().selection()->event, &job);
  EXPECT_LE(chart.axis().begin(), job.begin);
  EXPECT_GE(chart.axis().end(), job.end);
  EXPECT_LT(chart.axis().span(), 2 * job.duration());
}

TEST(ChartKeysTest, TheMedianAndTheSlowestStepAreShown) {
  // Steps of the same length, and all stop for 50 ms within the third.
  Timeline timeline = makeTestTimeline({.steps = 4});
  Nanoseconds stop = 0;
  for (const Event& job : timeline.track(0, kComputeLane).events) {
    if (job.step == 2 && job.kind == JobKind::kBackward && job.microBatch == 5) stop = job.begin;
  }
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      if (event.begin < stop) continue;
      event.begin += 50 * kNsPerMs;
      event.end += 50 * kNsPerMs;
    }
  }
  ShownChart chart(std::move(timeline));
  const auto trigger = [&](const char* name) {
    for (QAction* action : commandsOf(chart.widget(), CommandMenu::kGo)) {
      if (action->objectName() == name) action->trigger();
    }
  };
  const auto shown = [&] {
    const Nanoseconds middle = chart.axis().begin() + chart.axis().span() / 2;
    for (const StepSpan& step : chart.model().steps()) {
      if (step.begin <= middle && middle < step.end) return step.step;
    }
    return -1;
  };
  trigger("slowest-step");
  EXPECT_EQ(shown(), 2);
  trigger("median-step");
  EXPECT_NE(shown(), 2);
}

TEST(ChartKeysTest, TwoFingersMoveTheChartInBothDirections) {
  ZoomedIn chart({.ranks = 32, .steps = 2});
  chart.widget().setRowHeight(RowHeights{}.compute);
  QScrollBar* bar = chart.widget().verticalScrollBar();
  bar->setValue(100);
  const Nanoseconds span = chart.axis().span();
  const Nanoseconds under = chart.axis().timeAt(300);
  chart.trackpad({600, 300}, {-37, -53});
  EXPECT_EQ(chart.axis().span(), span);
  EXPECT_LE(std::abs(chart.axis().xOf(under) - 263), 1);
  EXPECT_EQ(bar->value(), 153);
  chart.trackpad({600, 300}, {0, 53}, Qt::ShiftModifier);
  EXPECT_EQ(bar->value(), 153) << "with Shift only in time";
  EXPECT_LE(std::abs(chart.axis().xOf(under) - 316), 1);
  chart.trackpad({600, 300}, {0, 60}, Qt::ControlModifier);
  EXPECT_NEAR(static_cast<double>(chart.axis().span()), static_cast<double>(span) / 1.25,
              static_cast<double>(span) / 1000);
}

TEST(ChartKeysTest, APinchZoomsAroundTheFingers) {
  ZoomedIn chart;
  const QPointF at(500, 250);
  const Nanoseconds span = chart.axis().span();
  const int x = 500 - chart.widget().view().area.x;
  const Nanoseconds under = chart.axis().timeAt(x);
  QWidget* viewport = chart.widget().viewport();
  for (int i = 0; i < 2; ++i) {
    QNativeGestureEvent pinch(Qt::ZoomNativeGesture, QPointingDevice::primaryPointingDevice(), 2,
                              at, at, viewport->mapToGlobal(at), 0.5, {});
    QCoreApplication::sendEvent(viewport, &pinch);
  }
  EXPECT_NEAR(static_cast<double>(chart.axis().span()), static_cast<double>(span) / 2.25,
              static_cast<double>(span) / 1000);
  EXPECT_LE(std::abs(chart.axis().xOf(under) - x), 1);
}

TEST(ChartKeysTest, CommandsNameAllOfTheirKeys) {
  ShownChart chart;
  const auto keys = [&](const char* name) {
    for (const QAction* action : chart.widget().actions()) {
      if (action->objectName() == name) return keysOf(*action).join(' ').toStdString();
    }
    return std::string("no such command");
  };
  EXPECT_EQ(keys("zoom-in"), "W + =");
  EXPECT_EQ(keys("next-step"), "N PgDown");
  EXPECT_EQ(keys("later"), "D Right");
  EXPECT_EQ(keys("whole-run"), "0 Home");
}

}  // namespace
}  // namespace pipetrace
