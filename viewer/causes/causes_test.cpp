#include "viewer/causes/causes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/faulty_run.h"
#include "trace/text/decimal_time.h"
#include "viewer/causes/graph_places.h"
#include "viewer/panels/details_panel.h"
#include "viewer/testing/explained_chart.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

std::vector<std::string> arrowsOf(ExplainedChart& chart, LinkKind kind) {
  std::vector<std::string> names;
  for (const JobLink& link : chart.causes().links()) {
    if (link.kind == kind) names.push_back(chart.nameOf(link.from) + " " + chart.nameOf(link.to));
  }
  return names;
}

TEST(CausesTest, AClickOnAJobShowsTheWayOfItsMicroBatch) {
  ExplainedChart chart(makeTestTimeline({.steps = 2}));
  EXPECT_THAT(chart.causes().links(), IsEmpty());
  chart.select(1, JobKind::kForward, 5, 1);
  EXPECT_THAT(arrowsOf(chart, LinkKind::kDirect), UnorderedElementsAre("0F5 1F5", "1F5 2F5"));
  EXPECT_THAT(arrowsOf(chart, LinkKind::kChain),
              UnorderedElementsAre("2F5 3F5", "3F5 3B5", "3B5 2B5", "2B5 1B5", "1B5 0B5"));
  for (const JobLink& link : chart.causes().links()) EXPECT_EQ(link.from.event->step, 1);
  chart.key(Qt::Key_Escape);
  EXPECT_THAT(chart.causes().links(), IsEmpty());
}

TEST(CausesTest, TheWayGoesOnWhereNeighbouringStagesAreOnOneRank) {
  const Plan plan = buildSchedule("ZBV", {2, 4});
  ExplainedChart chart(test::completedRun(plan, test::costsOf(plan, 1), 1));
  const Event& first = chart.job(0, JobKind::kForward, 1);
  ASSERT_EQ(first.stage, 0);
  chart.click(0, first);
  // Stages 0 and 3 are on rank 0, 1 and 2 on rank 1.
  EXPECT_THAT(arrowsOf(chart, LinkKind::kDirect), ElementsAre("0F1 1F1"));
  EXPECT_THAT(
      arrowsOf(chart, LinkKind::kChain),
      UnorderedElementsAre("1F1 2F1", "2F1 3F1", "3F1 3I1", "3I1 2I1", "2I1 1I1", "1I1 0I1"));
}

/// In 1F1B on four ranks with messages of 1 ms: forward 10 ms, backward 20 ms, lr 0.1 ms.
TEST(CausesTest, BracketsWalkAlongDependencies) {
  ExplainedChart chart(makeTestTimeline({.steps = 1}));
  chart.key(Qt::Key_BracketLeft);
  EXPECT_EQ(chart.selected(), "-") << "nothing is selected";
  chart.select(3, JobKind::kBackward, 0);
  const std::vector<std::string> back = {"3F0", "2F0", "1F0", "0F0", "lr"};
  for (const std::string& name : back) {
    chart.key(Qt::Key_BracketLeft);
    EXPECT_EQ(chart.selected(), name);
  }
  chart.key(Qt::Key_BracketLeft);
  EXPECT_EQ(chart.selected(), "lr") << "the beginning";
  // The next job of the rank waited first: it began as soon as the one before had ended.
  for (const char* name : {"0F0", "0F1", "0F2", "0F3"}) {
    chart.key(Qt::Key_BracketRight);
    EXPECT_EQ(chart.selected(), name);
  }
  chart.select(3, JobKind::kForward, 0);
  chart.key(Qt::Key_BracketRight);
  EXPECT_EQ(chart.selected(), "3B0");
}

TEST(CausesTest, CommaAndPeriodWalkAlongTheLane) {
  ExplainedChart chart(makeTestTimeline({.steps = 1}));
  chart.key(Qt::Key_Period);
  EXPECT_EQ(chart.selected(), "lr") << "without a selection the first job in view";
  // Rank 2 of four: one forward of warm-up, then one forward and one backward in turns.
  chart.select(2, JobKind::kForward, 0);
  for (const char* name : {"2F1", "2B0", "2F2", "2B1"}) {
    chart.key(Qt::Key_Period);
    EXPECT_EQ(chart.selected(), name);
  }
  for (const char* name : {"2F2", "2B0", "2F1", "2F0", "lr", "lr"}) {
    chart.key(Qt::Key_Comma);
    EXPECT_EQ(chart.selected(), name);
  }
}

/// One micro-batch on two ranks: all of the step is on its critical path.
TEST(CausesTest, TheCriticalPathOfOneMicroBatchIsItsWay) {
  ExplainedChart chart(makeTestTimeline({.ranks = 2, .microBatches = 1, .steps = 2}));
  QAction* action = chart.widget().findChild<QAction*>("critical-path");
  ASSERT_NE(action, nullptr);
  EXPECT_FALSE(chart.causes().isPathShown());
  QTest::keyClick(&chart.widget(), Qt::Key_P, Qt::ShiftModifier);
  EXPECT_TRUE(action->isChecked());
  ASSERT_TRUE(chart.causes().isPathShown());
  const auto paths = [&] { return chart.causes().pathsIn(chart.widget().view()); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return paths().size() == 2; }, 20'000));
  const ChartPath& path = *paths()[1];
  EXPECT_EQ(path.step, 1);
  std::vector<std::string> jobs;
  Nanoseconds time = 0;
  Nanoseconds messages = 0;
  for (const PathPart& part : path.parts) {
    time += part.end - part.begin + part.wait;
    ASSERT_NE(part.spot.event, nullptr);
    if (isComputeLane(part.spot.event->kind)) jobs.push_back(chart.nameOf(part.spot));
    if (isTransfer(part.spot.event->kind)) messages += part.end - part.begin;
  }
  EXPECT_THAT(jobs, ElementsAre("0F0", "1F0", "1B0", "0B0", "optimizer"));
  EXPECT_EQ(messages, 2 * kNsPerMs);
  EXPECT_EQ(time, 64 * kNsPerMs) << "10 + 1 + 10 + 20 + 1 + 20 + 2";
  EXPECT_EQ(chart.causes().isOnPath({0, path.parts.front().spot.event}), true);
}

TEST(CausesTest, JobsWithSlackArePalerWithTheCriticalPath) {
  ExplainedChart chart(makeTestTimeline({.steps = 2}));
  const GraphPlaces& places = *chart.causes().places();
  const Event* slack = nullptr;
  for (int microBatch = 0; microBatch < 8 && slack == nullptr; ++microBatch) {
    const Event& job = chart.job(0, JobKind::kForward, microBatch, 1);
    if (places.slackOf(places.nodeOf({0, &job})) > kNsPerMs) slack = &job;
  }
  ASSERT_NE(slack, nullptr);
  const QPoint middle = chart.middleOf(0, *slack) + QPoint(0, 8);
  const auto colorOf = [&] {
    return chart.widget().viewport()->grab(QRect(middle, QSize(1, 1))).toImage().pixelColor(0, 0);
  };
  const QColor before = colorOf();
  QTest::keyClick(&chart.widget(), Qt::Key_P, Qt::ShiftModifier);
  EXPECT_GT(colorOf().lightness(), before.lightness());
  QTest::keyClick(&chart.widget(), Qt::Key_P, Qt::ShiftModifier);
  EXPECT_EQ(colorOf(), before);
}

/// A chart of 1F1B on four ranks whose stage 2 is 1.3 times as slow.
struct SlowStage : ExplainedChart {
  SlowStage() : ExplainedChart(run()) {}
  static Timeline run() {
    const Plan plan = buildSchedule("1F1B", {4, 8});
    Costs costs = test::costsOf(plan, 1);
    test::scaleRank(costs, plan, 2, 1.3);
    return test::completedRun(plan, costs);
  }
  const Event& bubble(int rank, BubbleClass bubbleClass) const {
    for (const Event& event : model().timeline().findTrack(rank, kBubbleLane)->events) {
      const bool isWide = event.duration() > 3 * kNsPerMs;
      if (event.bubbleClass == bubbleClass && isWide) return event;
    }
    throw std::out_of_range("no such bubble");
  }
};

TEST(CausesTest, AnArrowLeadsFromABubbleToItsCulprit) {
  SlowStage chart;
  const Event& bubble = chart.bubble(0, BubbleClass::kImbalance);
  chart.click(0, bubble);
  ASSERT_THAT(chart.causes().links(), SizeIs(1));
  const JobLink link = chart.causes().links().front();
  EXPECT_EQ(link.kind, LinkKind::kCulprit);
  EXPECT_EQ(link.from.event, &bubble);
  EXPECT_EQ(link.to.event->stage, 2);
  EXPECT_EQ(link.to.event->job, bubble.job);
  chart.key(Qt::Key_BracketLeft);
  EXPECT_EQ(chart.widget().selection()->event, link.to.event) << "what it waited for";
}

std::map<std::string, std::string> detailsOf(ExplainedChart& chart) {
  std::map<std::string, std::string> rows;
  for (const DetailRow& row :
       detailRows(chart.widget(), chart.causes(), *chart.widget().selection())) {
    if (!row.name.isEmpty()) rows[row.name.toStdString()] = row.value.toStdString();
  }
  return rows;
}

TEST(CausesTest, DetailsNameWhatAJobWaitedForAndWhatWaitedForIt) {
  ExplainedChart chart(makeTestTimeline({.steps = 2}));
  chart.select(1, JobKind::kForward, 0, 1);
  std::vector<std::string> relations;
  for (const DetailRow& row :
       detailRows(chart.widget(), chart.causes(), *chart.widget().selection())) {
    if (!row.link) continue;
    relations.push_back((row.isStrong ? "last: " : "") + row.value.toStdString());
    EXPECT_EQ(chart.nameOf(*row.link), row.value.section(' ', 0, 0).toStdString());
  }
  EXPECT_THAT(relations,
              ElementsAre("lr on rank 1, job before", "last: 0F0 on rank 0, by message",
                          "last: 1F1 on rank 1, job after", "last: 2F0 on rank 2, by message"));
}

TEST(CausesTest, AnExplainedBubbleLeadsToItsCulpritWhateverTheProfileCallsIt) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = test::costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 2, 1.3);
  Timeline profile = withBubbles(test::completedRun(plan, costs));
  for (Track& track : profile.tracks) {
    for (Event& event : track.events) {
      event.job = kNotGiven;
      if (track.lane == kBubbleLane) event.argumentCount = 0;
    }
  }
  ShownChart chart(std::move(profile));
  Causes causes(chart.widget());
  const auto& bubbles = chart.model().timeline().findTrack(0, kBubbleLane)->events;
  const auto bubble = std::find_if(bubbles.begin(), bubbles.end(), [](const Event& event) {
    return event.bubbleClass == BubbleClass::kImbalance && event.duration() > kNsPerMs;
  });
  ASSERT_NE(bubble, bubbles.end());
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, {}, chart.middleOf(0, *bubble));
  ASSERT_TRUE(chart.widget().selection());
  EXPECT_FALSE(chart.widget().culprit()) << "neither its number nor its name is known";
  causes.show(std::make_shared<const Explanation>(chart.run(), ExplainOptions{}), nullptr);
  ASSERT_TRUE(chart.widget().culprit());
  const Bubble* const known =
      causes.places()->bubbleOf({chart.widget().selection()->row, &*bubble});
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(chart.widget().culprit()->event, &culpritEventOf(causes.places()->graph(), *known));
  EXPECT_EQ(chart.widget().culprit()->event->stage, 2);
}

TEST(CausesTest, DetailsOfABubbleSayWhatItsCauseCostsInAll) {
  SlowStage chart;
  chart.click(0, chart.bubble(0, BubbleClass::kImbalance));
  Nanoseconds all = 0;  // imbalance has stage 2 as its only culprit
  for (const auto& bubbles : chart.explanation().bubbles.byRank) {
    for (const Bubble& bubble : bubbles) {
      if (bubble.bubbleClass == BubbleClass::kImbalance) all += bubble.end - bubble.begin;
    }
  }
  const auto rows = detailsOf(chart);
  EXPECT_EQ(rows.at("Costs in all"), formatDuration(all) + " of idle time");
  EXPECT_THAT(rows.at("Culprit"), HasSubstr("on rank 2"));
}

TEST(CausesTest, TheFirstFindingLeadsToItsLongestBubbleAndItsCulprit) {
  SlowStage chart;
  const Finding& finding = chart.explanation().findings.front();
  EXPECT_THAT(findingText(finding), StartsWith("stage 2 (rank 2) takes 1.30 times as long"));
  const std::vector<FindingPlace> evidence = placesOfFinding(finding, *chart.causes().places());
  ASSERT_THAT(evidence, SizeIs(4));
  Nanoseconds longest = 0;
  for (int rank = 0; rank < 4; ++rank) {
    for (const Event& event : chart.model().timeline().findTrack(rank, kBubbleLane)->events) {
      if (event.bubbleClass == BubbleClass::kImbalance) {
        longest = std::max(longest, event.duration());
      }
    }
  }
  EXPECT_EQ(evidence[0].spot.event->duration(), longest);
  EXPECT_EQ(evidence[3].spot.event->stage, 2);
  for (const Finding& each : chart.explanation().findings) {
    EXPECT_FALSE(placesOfFinding(each, *chart.causes().places()).empty()) << findingText(each);
  }
}

TEST(CausesTest, FindingsAboutPausesAndEarlyMessagesHavePlaces) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  ExplainedChart chart(
      test::withPauseAndEarlyMessages(test::completedRun(plan, test::costsOf(plan, 0.1), 4)));
  std::vector<std::string> words;
  for (const Finding& finding : chart.explanation().findings) {
    if (!finding.classes.empty()) continue;
    for (const FindingPlace& place : placesOfFinding(finding, *chart.causes().places())) {
      words.push_back(place.words.toStdString());
      if (finding.kind != FindingKind::kPauses) continue;
      EXPECT_GE(place.spot.event->begin, finding.factsOf<Pauses>()->end);
    }
  }
  EXPECT_THAT(words, ElementsAre(testing::EndsWith("on rank 3, received before it is sent"),
                                 testing::EndsWith("on rank 0, after the pause")));
}

/// A replica's rank with one job, an all-reduce over two ranks, and an optimizer that waits for it.
Timeline runWithACollective() {
  Timeline timeline;
  const auto ms = [](Nanoseconds time) { return time * kNsPerMs; };
  for (int rank = 0; rank < 2; ++rank) {
    timeline.ranks[rank].dataParallelIndex = rank;
    const Nanoseconds late = rank == 0 ? 0 : ms(5);
    const auto event = [&](JobKind kind, Nanoseconds begin, Nanoseconds end) {
      return Event{.begin = begin,
                   .end = end,
                   .job = begin,
                   .step = 0,
                   .microBatch = 0,
                   .stage = 0,
                   .kind = kind};
    };
    timeline.track(rank, kComputeLane).events = {event(JobKind::kForward, 0, ms(10)),
                                                 event(JobKind::kBackward, ms(10), ms(30) + late),
                                                 event(JobKind::kOptimizer, ms(40), ms(42))};
    timeline.track(rank, "all_reduce").events = {event(JobKind::kAllReduce, ms(30) + late, ms(40))};
  }
  timeline.sort();
  return timeline;
}

TEST(CausesTest, ACollectiveLeadsToTheJobsAroundIt) {
  ExplainedChart chart(runWithACollective());
  const GraphPlaces& places = *chart.causes().places();
  const Event& reduce = chart.model().timeline().findTrack(0, "all_reduce")->events.front();
  std::optional<EventSpot> spot;
  for (std::size_t row = 0; row < chart.model().rows().size() && !spot; ++row) {
    if (chart.model().rows()[row].lane == "all_reduce") spot = EventSpot{row, &reduce};
  }
  ASSERT_TRUE(spot);
  ASSERT_NE(places.nodeOf(*spot), JobGraph::kNone);
  chart.causes().goTo(*spot);
  chart.key(Qt::Key_BracketRight);
  EXPECT_EQ(chart.selected(), "optimizer");
  chart.causes().goTo(*spot);
  chart.key(Qt::Key_BracketLeft);
  EXPECT_EQ(chart.selected(), "0B0");
  EXPECT_EQ(chart.model().rows()[chart.widget().selection()->row].rank, 1)
      << "the backward of the member that began last";
}

TEST(CausesTest, WithoutAnExplanationTheKeysDoNothing) {
  ShownChart chart;
  Causes causes(chart.widget());
  QTest::mouseClick(chart.widget().viewport(), Qt::LeftButton, {},
                    chart.middleOf(1, chart.job(1, JobKind::kForward, 2)));
  const Event* selected = chart.widget().selection()->event;
  for (const Qt::Key key : {Qt::Key_BracketLeft, Qt::Key_BracketRight}) chart.key(key);
  QTest::keyClick(&chart.widget(), Qt::Key_P, Qt::ShiftModifier);
  EXPECT_EQ(chart.widget().selection()->event, selected);
  EXPECT_THAT(causes.links(), IsEmpty());
  EXPECT_FALSE(chart.widget().grab().isNull());
}

TEST(CausesTest, TooManyStepsHaveNoPath) {
  ExplainedChart chart(makeTestTimeline({.ranks = 2, .microBatches = 2, .steps = 100}));
  EXPECT_TRUE(chart.causes().areTooMany(chart.widget().view()));
  EXPECT_THAT(chart.causes().pathsIn(chart.widget().view()), IsEmpty());
  chart.key(Qt::Key_N);
  EXPECT_FALSE(chart.causes().areTooMany(chart.widget().view()));
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return !chart.causes().pathsIn(chart.widget().view()).empty(); }, 20'000));
}

}  // namespace
}  // namespace pipetrace
