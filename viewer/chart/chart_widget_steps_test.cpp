#include <gmock/gmock.h>

#include <QToolTip>

#include "viewer/chart/overview_strip.h"
#include "viewer/testing/shown_chart.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Steps of one rank that take that many milliseconds each: a forward and an optimizer. Between
/// them is a pause of a millisecond.
Timeline stepsOf(const std::vector<int>& milliseconds) {
  Timeline timeline;
  Nanoseconds begin = kTestEpoch;
  for (std::size_t i = 0; i < milliseconds.size(); ++i) {
    Event job{.begin = begin, .end = begin + (milliseconds[i] - 1) * kNsPerMs};
    job.step = static_cast<std::int32_t>(i) + 10;
    job.microBatch = 0;
    job.kind = JobKind::kForward;
    timeline.track(0, kComputeLane).events.push_back(job);
    job.begin = job.end;
    job.end += kNsPerMs;
    job.kind = JobKind::kOptimizer;
    timeline.track(0, kComputeLane).events.push_back(job);
    begin = job.end + kNsPerMs;
  }
  timeline.sort();
  return timeline;
}

OverviewStrip& stripOf(ShownChart& chart) { return *chart.widget().findChild<OverviewStrip*>(); }

/// The pixel of the strip at that time.
QPoint inStrip(ShownChart& chart, Nanoseconds time) {
  const Timeline::Span run = chart.model().span();
  const PixelRect rows = chart.widget().view().area;
  return {rows.x + TimeAxis(run.begin, run.end, rows.width).xOf(time), 20};
}

void dragInStrip(ShownChart& chart, QPoint from, QPoint to) {
  OverviewStrip& strip = stripOf(chart);
  QTest::mousePress(&strip, Qt::LeftButton, Qt::NoModifier, from);
  for (const QPoint position : {(from + to) / 2, to}) {
    QMouseEvent event(QEvent::MouseMove, position, strip.mapToGlobal(position), Qt::NoButton,
                      Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&strip, &event);
  }
  QTest::mouseRelease(&strip, Qt::LeftButton, Qt::NoModifier, to);
}

int startOf(const ShownChart& chart, std::size_t step) {
  return chart.widget().view().xOf(chart.model().steps()[step].begin);
}

TEST(StepsTest, StepsFollowEachOtherAtTheSamePlaceAndZoom) {
  ShownChart chart(stepsOf({100, 130, 90, 100, 100, 100, 100, 100}));
  chart.widget().showStep(11);
  chart.key(Qt::Key_W);  // into the step
  chart.key(Qt::Key_A);
  const Nanoseconds span = chart.axis().span();
  const int x = startOf(chart, 1);
  for (std::size_t step = 2; step < 6; ++step) {
    chart.widget().showNextStep();
    EXPECT_EQ(chart.axis().span(), span);
    EXPECT_NEAR(startOf(chart, step), x, 1);
  }
  for (std::size_t step = 5; step-- > 1;) {
    chart.widget().showPreviousStep();
    EXPECT_EQ(chart.axis().span(), span);
    EXPECT_NEAR(startOf(chart, step), x, 1);
  }
}

TEST(StepsTest, TheMiddleOfAStepIsFollowedByTheMiddleOfTheNext) {
  ShownChart chart(stepsOf({100, 100, 100, 100}));
  const auto& steps = chart.model().steps();
  chart.widget().showSpan(steps[1].begin + 40 * kNsPerMs, steps[1].begin + 60 * kNsPerMs);
  chart.widget().showNextStep();
  EXPECT_EQ(chart.axis().begin(), steps[2].begin + 40 * kNsPerMs);
  EXPECT_EQ(chart.axis().span(), 20 * kNsPerMs);
}

TEST(StepsTest, TheSlowestAndTheMedianStepAreFound) {
  ShownChart chart(stepsOf({100, 108, 250, 104, 101, 90}));
  const auto isShown = [&](std::size_t step) {
    const StepSpan& span = chart.model().steps()[step];
    return chart.axis().begin() <= span.begin && span.end <= chart.axis().end() &&
           chart.axis().span() < (span.end - span.begin) * 2;
  };
  chart.widget().showSlowestStep();
  EXPECT_TRUE(isShown(2));
  chart.widget().showMedianStep();
  EXPECT_TRUE(isShown(4)) << "90 100 101 | 104 108 250: the lower of the middle two";
  chart.widget().showStep(13);
  EXPECT_TRUE(isShown(3));
  const Nanoseconds begin = chart.axis().begin();
  chart.widget().showStep(99);
  EXPECT_EQ(chart.axis().begin(), begin) << "there is no such step";
}

TEST(StepsTest, TheRulerNamesSlowSteps) {
  ShownChart chart(stepsOf({100, 100, 125, 100}));
  const ChartView view = chart.widget().view();
  const auto ruler = [&](std::size_t step) {
    const StepSpan& span = chart.model().steps()[step];
    return QPoint(view.xOf(span.begin + (span.end - span.begin) / 4), view.area.y - 38);
  };
  QTest::mouseMove(chart.widget().viewport(), ruler(2));
  EXPECT_THAT(awaitToolTip("step 12"), AllOf(HasSubstr("step 12"), HasSubstr("25.0 % longer")));
  const QImage image = chart.widget().viewport()->grab().toImage();
  const QColor slow = image.pixelColor(ruler(2));
  EXPECT_NE(slow, image.pixelColor(ruler(0)));
  EXPECT_NE(slow, image.pixelColor(ruler(1)));
  EXPECT_NE(image.pixelColor(ruler(0)), image.pixelColor(ruler(1))) << "shades alternate";
}

TEST(OverviewStripTest, ItIsShownForSeveralStepsOnly) {
  ShownChart one(stepsOf({100}));
  EXPECT_FALSE(stripOf(one).isVisible());
  EXPECT_EQ(one.widget().viewport()->y(), 0);
  ShownChart two(stepsOf({100, 100}));
  EXPECT_TRUE(stripOf(two).isVisible());
  EXPECT_EQ(two.widget().viewport()->y(), OverviewStrip::kHeight);
  two.widget().setModel(nullptr);
  EXPECT_FALSE(stripOf(two).isVisible());
}

TEST(OverviewStripTest, AClickOnABarGoesToTheStep) {
  ShownChart chart(stepsOf({100, 130, 90, 100}));
  const StepSpan& step = chart.model().steps()[2];
  QTest::mouseClick(&stripOf(chart), Qt::LeftButton, Qt::NoModifier,
                    inStrip(chart, step.begin + 30 * kNsPerMs));
  EXPECT_LE(chart.axis().begin(), step.begin);
  EXPECT_GE(chart.axis().end(), step.end);
  EXPECT_LT(chart.axis().span(), (step.end - step.begin) * 11 / 10);
}

TEST(OverviewStripTest, TheBracketMovesTheView) {
  ShownChart chart(stepsOf({100, 100, 100, 100, 100, 100}));
  const auto& steps = chart.model().steps();
  chart.widget().showSpan(steps[1].begin, steps[2].begin);
  const Nanoseconds span = chart.axis().span();
  const Nanoseconds middle = steps[1].begin + 50 * kNsPerMs;
  dragInStrip(chart, inStrip(chart, middle), inStrip(chart, middle + 202 * kNsPerMs));
  const auto pixel = static_cast<double>(chart.model().span().end - chart.model().span().begin) /
                     chart.axis().width();
  EXPECT_EQ(chart.axis().span(), span);
  EXPECT_NEAR(static_cast<double>(chart.axis().begin() - steps[3].begin), 0, 2 * pixel);
}

TEST(OverviewStripTest, TheSidesOfTheBracketResizeTheView) {
  ShownChart chart(stepsOf({100, 100, 100, 100, 100, 100}));
  const auto& steps = chart.model().steps();
  chart.widget().showSpan(steps[2].begin, steps[3].begin);
  const auto pixel = static_cast<double>(chart.model().span().end - chart.model().span().begin) /
                     chart.axis().width();
  dragInStrip(chart, inStrip(chart, steps[3].begin), inStrip(chart, steps[5].begin));
  EXPECT_EQ(chart.axis().begin(), steps[2].begin);
  EXPECT_NEAR(static_cast<double>(chart.axis().end() - steps[5].begin), 0, 2 * pixel);
  const Nanoseconds end = chart.axis().end();
  dragInStrip(chart, inStrip(chart, steps[2].begin), inStrip(chart, steps[1].begin));
  EXPECT_NEAR(static_cast<double>(chart.axis().begin() - steps[1].begin), 0, 2 * pixel);
  EXPECT_NEAR(static_cast<double>(chart.axis().end() - end), 0, 2);
}

TEST(OverviewStripTest, DraggingBesideTheBracketShowsThatStretch) {
  ShownChart chart(stepsOf({100, 100, 100, 100, 100, 100}));
  const auto& steps = chart.model().steps();
  dragInStrip(chart, inStrip(chart, steps[4].begin), inStrip(chart, steps[2].begin));
  const auto pixel = static_cast<double>(chart.model().span().end - chart.model().span().begin) /
                     chart.axis().width();
  EXPECT_NEAR(static_cast<double>(chart.axis().begin() - steps[2].begin), 0, 2 * pixel);
  EXPECT_NEAR(static_cast<double>(chart.axis().end() - steps[4].begin), 0, 2 * pixel);
}

TEST(OverviewStripTest, BarsAreAsHighAsTheirStepsAreLong) {
  ShownChart chart(stepsOf({100, 50, 25, 100}));
  chart.widget().setBubbleRatios({{10, 0.5}});
  const QImage image = stripOf(chart).grab().toImage();
  const auto heightAt = [&](std::size_t step, bool isDark) {
    const StepSpan& span = chart.model().steps()[step];
    const int x = inStrip(chart, (span.begin + span.end) / 2).x();
    const QColor paper = image.pixelColor(2, 2);
    int height = 0;
    for (int y = 4; y < image.height() - 4; ++y) {
      const QColor color = image.pixelColor(x, y);
      const bool isInk = color.lightness() < paper.lightness() - 40;
      const bool isStrong = color.lightness() < paper.lightness() - 90;
      height += (isDark ? isStrong : isInk) ? 1 : 0;
    }
    return height;
  };
  const int full = heightAt(0, false);
  EXPECT_NEAR(heightAt(1, false) * 2, full, 3);
  EXPECT_NEAR(heightAt(2, false) * 4, full, 5);
  EXPECT_NEAR(heightAt(0, true) * 2, full, 3) << "half of the step is idle";
}

TEST(OverviewStripTest, HoveringNamesTheStepAndItsBubbleRatio) {
  ShownChart chart(stepsOf({100, 130, 90}));
  chart.widget().setBubbleRatios({{11, 0.25}});
  const StepSpan& step = chart.model().steps()[1];
  QTest::mouseMove(&stripOf(chart), inStrip(chart, step.begin + 10 * kNsPerMs));
  EXPECT_THAT(awaitToolTip("step 11"),
              AllOf(HasSubstr("step 11"), HasSubstr("130.0 ms"), HasSubstr("bubble ratio 25.0 %")));
}

}  // namespace
}  // namespace pipetrace
