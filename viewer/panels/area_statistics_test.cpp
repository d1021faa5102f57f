#include "viewer/panels/area_statistics.h"

#include <gtest/gtest.h>

#include <QTest>

#include "analysis/run/bubbles/bubbles.h"
#include "viewer/search/chart_search.h"
#include "viewer/testing/shown_chart.h"

// Bubbles that a model gets while its chart is in use.
namespace pipetrace {
namespace {

struct LaterBubbles {
  LaterBubbles() {
    for (Track& track : makeTestTimeline({}).tracks) {
      if (track.lane == kBubbleLane) lanes.tracks.push_back(std::move(track));
    }
    for (const Track& track : lanes.tracks) {
      count += track.events.size();
      for (const Event& event : track.events) idle += event.duration();
    }
    widget.resize(900, 500);
    widget.setModel(&model);
    widget.show();
  }

  void add() {
    widget.modelWillChange();
    auto indexed = ChartModel::indexed(lanes.tracks);
    joinBubbles(timeline, std::move(lanes));
    model.add(std::move(indexed));
    widget.modelHasChanged();
  }

  Timeline timeline = makeTestTimeline({.hasBubbles = false});
  ChartModel model{timeline};
  ChartWidget widget;
  BubbleLanes lanes{{}, {}, timeline.arguments.size()};
  std::size_t count = 0;
  Nanoseconds idle = 0;
};

TEST(AreaStatisticsTest, AnAreaCountsTheBubblesThatComeLater) {
  LaterBubbles later;
  AreaStatistics statistics(later.widget);
  ChartArea all{later.model.span(), {}};
  for (std::size_t row = 0; row < later.model.rows().size(); ++row) all.rows.push_back(row);
  later.widget.setArea(all);
  ASSERT_TRUE(QTest::qWaitFor([&] { return statistics.sums() != nullptr; }, 20'000));
  EXPECT_EQ(statistics.sums()->idle, 0);
  const Nanoseconds busy = statistics.sums()->busy;
  later.add();
  EXPECT_TRUE(QTest::qWaitFor([&] { return statistics.sums()->idle > 0; }, 20'000));
  EXPECT_EQ(statistics.sums()->idle, later.idle);
  EXPECT_EQ(statistics.sums()->busy, busy);
}

TEST(AreaStatisticsTest, ASearchFindsTheBubblesThatComeLater) {
  LaterBubbles later;
  auto& search = *new ChartSearch(later.widget);
  search.start(QStringLiteral("kind:bubble"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !search.isBusy(); }, 20'000));
  EXPECT_EQ(search.count(), 0U);
  later.add();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !search.isBusy(); }, 20'000));
  EXPECT_EQ(search.count(), later.count);
}

}  // namespace
}  // namespace pipetrace
