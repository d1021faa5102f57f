#include "viewer/chart/culprit.h"

#include <gmock/gmock.h>

#include <QToolTip>
#include <algorithm>

#include "analysis/run/graph/job_name.h"
#include "trace/event_arguments.h"
#include "viewer/testing/shown_chart.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A step of 1F1B on four ranks. The first bubble of rank 0 is due to 2B0.
Timeline runWithACulprit(const TestRun& run = {.steps = 2}) {
  Timeline timeline = makeTestTimeline(run);
  const Event* culprit = nullptr;
  for (const Event& job : timeline.findTrack(2, kComputeLane)->events) {
    if (job.kind == JobKind::kBackward && job.step == 1 && job.microBatch == 3) culprit = &job;
  }
  Event& bubble = timeline.track(0, kBubbleLane).events.front();
  bubble.bubbleClass = BubbleClass::kImbalance;
  bubble.peer = 2;
  bubble.job = culprit->job;
  const Argument name = Argument::ofText(timeline.strings.intern(bubble_arguments::kCulprit),
                                         timeline.strings.intern("2B3"));
  timeline.setArguments(bubble, {&name, 1});
  return timeline;
}

const Event& bubbleOf(const ChartModel& model) { return model.rows()[0].bubbles[0][0]; }

TEST(CulpritTest, ACulpritIsFoundByItsId) {
  const Timeline timeline = runWithACulprit();
  const ChartModel model(timeline);
  const auto found = culpritOf(model, bubbleOf(model));
  ASSERT_TRUE(found);
  EXPECT_EQ(model.rows()[found->row].rank, 2);
  EXPECT_TRUE(model.rows()[found->row].isCompute);
  EXPECT_EQ(found->event->kind, JobKind::kBackward);
  EXPECT_EQ(found->event->microBatch, 3);
  EXPECT_EQ(found->event->step, 1);
}

TEST(CulpritTest, TheCulpritOfABlockedBubbleIsTheMessageInFront) {
  Timeline timeline = runWithACulprit();
  const Track* const sends = timeline.findTrack(1, kSendLane);
  ASSERT_NE(sends, nullptr);
  Event& bubble = timeline.track(0, kBubbleLane).events.front();
  const auto inFront =
      std::find_if(sends->events.begin(), sends->events.end(), [&](const Event& e) {
        return isTransfer(e.kind) && e.microBatch >= 0 && e.begin < bubble.end;
      });
  ASSERT_NE(inFront, sends->events.end());
  bubble.bubbleClass = BubbleClass::kBlocked;
  bubble.peer = 1;
  const std::string name = messageName(*inFront, inFront->microBatch);
  const Argument argument = Argument::ofText(timeline.strings.intern(bubble_arguments::kCulprit),
                                             timeline.strings.intern(name));
  timeline.setArguments(bubble, {&argument, 1});
  const ChartModel model(timeline);
  const auto found = culpritOf(model, bubbleOf(model));
  ASSERT_TRUE(found) << name;
  EXPECT_TRUE(isTransfer(found->event->kind)) << "not the job that it belongs to";
  EXPECT_EQ(messageName(*found->event, found->event->microBatch), name);
}

TEST(CulpritTest, ACulpritWithoutAnIdIsTheLastOfThatNameBeforeTheBubbleEnds) {
  Timeline timeline = runWithACulprit({.steps = 3});
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) event.job = kNotGiven;
  }
  std::vector<Event>& bubbles = timeline.track(0, kBubbleLane).events;
  const Event first = bubbles.front();
  Event& later = bubbles[bubbles.size() / 3 + 2];  // of the second step
  ASSERT_EQ(later.step, 1);
  later.begin = later.end - 1;
  for (const Event& job : timeline.findTrack(2, kComputeLane)->events) {
    const bool isNext = job.kind == JobKind::kForward && job.step == 2 && job.microBatch == 0;
    if (isNext) later.end = job.begin;  // after 2B3 of the second step
  }
  later.peer = 2;
  later.firstArgument = first.firstArgument;
  later.argumentCount = first.argumentCount;
  const ChartModel model(timeline);
  const auto found = culpritOf(model, later);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->event->kind, JobKind::kBackward);
  EXPECT_EQ(found->event->microBatch, 3);
  EXPECT_EQ(found->event->step, 1);
  EXPECT_FALSE(culpritOf(model, bubbleOf(model))) << "2B3 comes after the first bubble";
}

TEST(CulpritTest, JobsAndBubblesOfTheScheduleHaveNone) {
  const Timeline timeline = runWithACulprit();
  const ChartModel model(timeline);
  EXPECT_FALSE(culpritOf(model, model.rows()[0].bubbles[0][1]));
  EXPECT_FALSE(culpritOf(model, model.rows()[1].lanes[0][1])) << "a transfer has a peer, too";
}

TEST(CulpritTest, ACulpritThatIsNotInTheProfileIsNone) {
  Timeline timeline = runWithACulprit();
  std::erase_if(timeline.tracks, [](const Track& track) { return track.rank == 2; });
  const ChartModel model(timeline);
  EXPECT_FALSE(culpritOf(model, bubbleOf(model)));
}

/// A chart, zoomed in so far that only the beginning of the first step is in view.
struct ZoomedChart : ShownChart {
  explicit ZoomedChart(const TestRun& run = {.steps = 2}) : ShownChart(runWithACulprit(run)) {
    for (int i = 0; i < 5; ++i) {
      wheel({widget().view().area.x + 1, widget().view().area.y + 8}, {0, 120});
    }
  }
  QPoint bubble() const { return middleOf(0, bubbleOf(model())); }
  bool isInView(const Event& event) const {
    return event.begin >= axis().begin() && event.end <= axis().end();
  }
  void click() { QTest::mouseClick(widget().viewport(), Qt::LeftButton, {}, bubble()); }
};

TEST(CulpritTest, ADoubleClickZoomsToTheBubble) {
  ZoomedChart chart;
  const Event& bubble = bubbleOf(chart.model());
  QTest::mouseDClick(chart.widget().viewport(), Qt::LeftButton, {}, chart.bubble());
  ASSERT_TRUE(chart.widget().selection());
  EXPECT_EQ(chart.widget().selection()->event, &bubble);
  EXPECT_TRUE(chart.isInView(bubble));
  EXPECT_LT(chart.axis().span(), 2 * bubble.duration());
}

TEST(CulpritTest, KeysGoToTheCulpritAndBack) {
  ZoomedChart chart;
  chart.key(Qt::Key_C);
  EXPECT_FALSE(chart.widget().selection()) << "nothing is selected";
  chart.click();
  ASSERT_TRUE(chart.widget().selection());
  const Event* const bubble = chart.widget().selection()->event;
  EXPECT_EQ(bubble, &bubbleOf(chart.model()));
  chart.key(Qt::Key_C);
  EXPECT_EQ(chart.widget().selection()->event->microBatch, 3);
  EXPECT_TRUE(chart.isInView(*chart.widget().selection()->event));
  chart.key(Qt::Key_C);
  EXPECT_EQ(chart.widget().selection()->event->microBatch, 3) << "a job has no culprit";
  QTest::keyClick(&chart.widget(), Qt::Key_C, Qt::ShiftModifier);
  EXPECT_EQ(chart.widget().selection()->event, bubble);
  EXPECT_TRUE(chart.isInView(*bubble));
}

TEST(CulpritTest, ACulpritInARowBelowIsScrolledIntoView) {
  ZoomedChart chart;
  chart.widget().resize(900, 220);
  QCoreApplication::processEvents();
  const auto isRowInView = [&](std::size_t row) {
    const ChartView view = chart.widget().view();
    const RowPlace place = view.layout[row];
    return place.top >= view.scrollY && place.bottom() <= view.scrollY + view.area.height;
  };
  chart.click();
  ASSERT_FALSE(isRowInView(chart.widget().culprit()->row));
  chart.key(Qt::Key_C);
  EXPECT_TRUE(isRowInView(chart.widget().selection()->row));
  QTest::keyClick(&chart.widget(), Qt::Key_C, Qt::ShiftModifier);
  EXPECT_TRUE(isRowInView(0));
}

TEST(CulpritTest, TheCulpritOfTheSelectedBubbleIsOutlined) {
  ShownChart chart(runWithACulprit());
  const auto found = culpritOf(chart.model(), bubbleOf(chart.model()));
  const ChartView view = chart.widget().view();
  const RowPlace place = view.layout[found->row];
  const QRect edge(view.xOf(found->event->begin) - 1, view.yOf(place.top), 3, place.height);
  const auto picture = [&] { return chart.widget().viewport()->grab(edge).toImage(); };
  const QImage before = picture();
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, {},
                    chart.middleOf(0, bubbleOf(chart.model())));
  EXPECT_NE(picture(), before);
}

TEST(CulpritTest, TheTooltipOfABubbleNamesClassLengthAndCulprit) {
  ShownChart chart(runWithACulprit());
  QTest::mouseMove(chart.widget().viewport(), chart.middleOf(0, bubbleOf(chart.model())));
  EXPECT_THAT(
      awaitToolTip("bubble imbalance"),
      AllOf(HasSubstr("bubble imbalance"), HasSubstr("a stage is slower"), HasSubstr("Culprit"),
            HasSubstr("2B3 on rank 2"), HasSubstr("Duration"), HasSubstr("go to the culprit"),
            Not(HasSubstr("Peer")), Not(HasSubstr("Job id"))));
}

}  // namespace
}  // namespace pipetrace
