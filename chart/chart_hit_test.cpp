#include "chart/chart_hit.h"

#include <gtest/gtest.h>

#include "chart/testing/timelines.h"

namespace pipetrace {
namespace {

struct Chart {
  explicit Chart(const TestRun& run, int width = 1000)
      : timeline(makeTestTimeline(run)),
        axis(model.span().begin, model.span().end, width),
        area{100, 50, width, layout.height()} {}

  ChartView view() const { return {model, layout, axis, area, 0}; }

  Timeline timeline;
  ChartModel model{timeline};
  RowLayout layout{model.rows(), RowHeights{}};
  TimeAxis axis;
  PixelRect area;
};

TEST(ChartHitTest, TheMiddleOfEveryWideJobHitsIt) {
  const Chart chart({.ranks = 4, .steps = 1});
  const ChartView view = chart.view();
  int hits = 0;
  for (std::size_t row = 0; row < chart.model.rows().size(); ++row) {
    const LaneIndex& lane = chart.model.rows()[row].lanes[0];
    const int y = view.yOf(chart.layout[row].top + chart.layout[row].height / 2);
    for (std::size_t i = 0; i < lane.size(); ++i) {
      if (lane[i].duration() < chart.axis.durationOf(3)) continue;
      const auto hit = hitAt(view, view.xOf(lane[i].begin + lane[i].duration() / 2), y);
      ASSERT_TRUE(hit);
      EXPECT_EQ(hit->event, &lane[i]);
      EXPECT_EQ(hit->row, row);
      EXPECT_EQ(hit->count, 1U);
      ++hits;
    }
  }
  EXPECT_GT(hits, 64);
}

TEST(ChartHitTest, TheStripOverAnOptimizerIsItsBubble) {
  Chart chart({.ranks = 1, .steps = 1});
  Event& bubble = chart.timeline.track(0, kBubbleLane).events.emplace_back();
  const std::vector<Event>& jobs = chart.timeline.findTrack(0, kComputeLane)->events;
  const Event& optimizer = jobs.back();
  const Event& backward = jobs[jobs.size() - 2];
  ASSERT_EQ(optimizer.kind, JobKind::kOptimizer);
  bubble.kind = JobKind::kBubble;
  bubble.bubbleClass = BubbleClass::kSync;
  bubble.begin = optimizer.begin;
  bubble.end = optimizer.end;
  const ChartModel model(chart.timeline);
  const RowLayout layout(model.rows(), {.compute = 40});
  const TimeAxis axis(backward.begin, optimizer.end, 400);
  const ChartView view{model, layout, axis, {0, 0, 400, layout.height()}, 0};
  const auto kindAt = [&](const Event& event, int y) {
    const auto hit = hitAt(view, view.xOf(event.begin + event.duration() / 2), layout[0].top + y);
    return hit ? hit->event->kind : JobKind::kOther;
  };
  EXPECT_EQ(RowLayout::idleStrip(model.rows()[0], 40), 10);
  EXPECT_EQ(kindAt(optimizer, 9), JobKind::kBubble);
  EXPECT_EQ(kindAt(optimizer, 10), JobKind::kOptimizer);
  EXPECT_EQ(kindAt(backward, 2), JobKind::kBackward) << "work fills the row";
}

TEST(ChartHitTest, AnIdleStretchHitsItsBubble) {
  const Chart chart({.ranks = 4, .steps = 1});
  const ChartView view = chart.view();
  const Event& bubble = chart.model.rows()[0].bubbles[0][0];
  const auto hit = hitAt(view, view.xOf(bubble.begin + bubble.duration() / 2),
                         view.yOf(chart.layout[0].top + 2));
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->event, &bubble);
}

TEST(ChartHitTest, PointsBetweenAndOutsideTheRowsHitNothing) {
  const Chart chart({.ranks = 2, .steps = 1});
  const ChartView view = chart.view();
  EXPECT_FALSE(hitAt(view, 500, view.yOf(chart.layout[0].bottom())));
  EXPECT_FALSE(hitAt(view, 99, view.yOf(chart.layout[0].top)));
  EXPECT_FALSE(hitAt(view, 500, 49));
  EXPECT_FALSE(hitAt(view, view.xOf(chart.model.span().begin) - 3, view.yOf(chart.layout[0].top)));
}

TEST(ChartHitTest, APixelOfManyJobsHasTheirNumberAndItsLoad) {
  const Chart chart({.ranks = 2, .microBatches = 16, .steps = 400}, 300);
  const ChartView view = chart.view();
  const auto hit = hitAt(view, 100 + 150, view.yOf(chart.layout[0].top + 3));
  ASSERT_TRUE(hit);
  const Nanoseconds begin = chart.axis.timeAt(150);
  const Nanoseconds end = chart.axis.timeAt(151);
  std::size_t count = 0;
  Nanoseconds busy = 0;
  Nanoseconds longest = 0;
  for (const Event& e : chart.timeline.findTrack(0, kComputeLane)->events) {
    if (e.end < begin || e.begin >= end) continue;
    busy += std::min(e.end, end) - std::max(e.begin, begin);
    longest = std::max(longest, e.duration());
    ++count;
  }
  EXPECT_GT(count, 20U);
  EXPECT_NEAR(static_cast<double>(hit->count), static_cast<double>(count), 1);
  EXPECT_EQ(hit->load.busy, busy);
  EXPECT_EQ(hit->span, end - begin);
  EXPECT_EQ(hit->event->duration(), longest);
}

TEST(ChartHitTest, ScrollingMovesTheRowsUnderThePoint) {
  const Chart chart({.ranks = 4, .steps = 1});
  ChartView view = chart.view();
  view.scrollY = chart.layout[3].top;
  const Event& job = chart.model.rows()[3].lanes[0][1];
  const auto hit = hitAt(view, view.xOf(job.begin) + 2, view.area.y + 3);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->event, &job);
}

}  // namespace
}  // namespace pipetrace
