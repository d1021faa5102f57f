#include "chart/loads/load_cache.h"

#include <gtest/gtest.h>

#include <random>

#include "chart/draw/draw_folded.h"
#include "chart/testing/paper_colors.h"
#include "chart/testing/replicas.h"

namespace pipetrace {
namespace {

/// The busy time of each pixel, from every event by itself.
std::vector<double> slowLoad(const std::vector<Event>& events, const TimeAxis& axis) {
  std::vector<double> busy(static_cast<std::size_t>(axis.width()));
  for (int x = 0; x < axis.width(); ++x) {
    const Nanoseconds end = axis.timeAt(x + 1);
    const Nanoseconds begin = std::min(axis.timeAt(x), end - 1);
    for (const Event& event : events) {
      const Nanoseconds time = std::min(end, event.end) - std::max(begin, event.begin);
      if (time > 0) busy[static_cast<std::size_t>(x)] += static_cast<double>(time);
    }
  }
  return busy;
}

TEST(FoldedLoadTest, LoadsAreThoseOfEveryEventByItselfAtAnyZoom) {
  std::mt19937 random(3);
  std::vector<Event> events;
  Nanoseconds time = 1000;
  for (int i = 0; i < 4000; ++i) {
    time += random() % 3 == 0 ? static_cast<Nanoseconds>(random() % 400) : 0;
    const auto length = static_cast<Nanoseconds>(random() % (i % 50 == 0 ? 30'000 : 60));
    events.push_back({.begin = time, .end = time + length, .kind = JobKind::kForward});
    time += length;
  }
  const LaneIndex lane(events, kPaperColors);
  TimeAxis axis(0, time + 500, 700);
  for (int zoom = 0; zoom < 24; ++zoom) {
    std::vector<PixelLoad> pixels(700);
    addLoad(lane, axis, pixels);
    const std::vector<double> slow = slowLoad(events, axis);
    for (std::size_t x = 0; x < 700; ++x) ASSERT_EQ(pixels[x].busy, slow[x]) << zoom << " " << x;
    axis.zoom(static_cast<int>(random() % 700), 2, 3);
  }
}

TEST(LoadSumsTest, LoadsAreThoseOfTheLanesOneByOneAtAnyZoom) {
  std::mt19937 random(11);
  std::vector<std::vector<Event>> events(7);
  Nanoseconds longest = 0;
  for (auto& lane : events) {
    Nanoseconds time = static_cast<Nanoseconds>(random() % 1000);
    for (int i = 0; i < 900; ++i) {
      time += random() % 3 == 0 ? static_cast<Nanoseconds>(random() % 400) : 0;
      if (i == 500) time += 10'000'000'000;  // further than a block's offsets reach
      const auto length = static_cast<Nanoseconds>(random() % (i % 50 == 0 ? 30'000 : 60));
      lane.push_back({.begin = time, .end = time + length, .kind = JobKind::kForward});
      time += length;
    }
    longest = std::max(longest, time);
  }
  std::vector<LaneIndex> lanes;
  for (const auto& lane : events) lanes.emplace_back(lane, kPaperColors);
  std::vector<const LaneIndex*> pointers;
  for (const LaneIndex& lane : lanes) pointers.push_back(&lane);
  const LoadCache cache;
  EXPECT_EQ(cache.find("a", pointers), nullptr) << "not yet";
  cache.wait();
  const auto sums = cache.find("a", pointers);
  ASSERT_NE(sums, nullptr);
  TimeAxis axis(0, longest + 500, 600);
  for (int zoom = 0; zoom < 60; ++zoom) {
    std::vector<PixelLoad> pixels(600);
    std::vector<PixelLoad> oneByOne(600);
    sums->addTo(axis, pixels);
    for (const LaneIndex& lane : lanes) addLoad(lane, axis, oneByOne);
    for (std::size_t x = 0; x < 600; ++x) {
      ASSERT_EQ(pixels[x].busy, oneByOne[x].busy) << zoom << " " << x;
      ASSERT_EQ(pixels[x].color(), oneByOne[x].color());
    }
    axis.zoom(static_cast<int>(random() % 600), 2, 3);
  }
}

TEST(LoadSumsTest, FortyThousandLanesMayBeginAtOnce) {
  const std::vector<Event> events{{.begin = 100, .end = 200, .kind = JobKind::kForward}};
  const LaneIndex lane(events, kPaperColors);
  const std::vector<const LaneIndex*> lanes(40'000, &lane);
  const LoadSums sums(lanes, std::atomic<bool>(false));
  TimeAxis axis(0, 400, 4);
  axis.show(0, 400);
  std::vector<PixelLoad> pixels(4);
  sums.addTo(axis, pixels);
  EXPECT_EQ(pixels[0].busy, 0);
  EXPECT_EQ(pixels[1].busy, 40'000.0 * 100);
  EXPECT_EQ(pixels[2].busy, 0);
}

TEST(LoadSumsTest, ColoursAreThoseOfTheJobs) {
  std::vector<Event> forward{{.begin = 0, .end = 600, .kind = JobKind::kForward}};
  std::vector<Event> backward{{.begin = 0, .end = 300, .kind = JobKind::kBackward}};
  const LaneIndex a(forward, kPaperColors);
  const LaneIndex b(backward, kPaperColors);
  const std::vector<const LaneIndex*> lanes{&a, &b};
  const std::atomic<bool> isStopped = false;
  const LoadSums sums(lanes, isStopped);
  TimeAxis axis(0, 600, 1);
  axis.show(0, 600);
  std::vector<PixelLoad> pixels(1);
  std::vector<PixelLoad> oneByOne(1);
  sums.addTo(axis, pixels);
  addLoad(a, axis, oneByOne);
  addLoad(b, axis, oneByOne);
  EXPECT_EQ(pixels[0].color(), oneByOne[0].color());
  EXPECT_EQ(pixels[0].busy, 900);
}

TEST(LoadCacheTest, ACacheThatGoesAwayStopsItsThread) {
  const Timeline timeline = makeReplicas(2, {.ranks = 4, .microBatches = 200, .steps = 20});
  const ChartModel model(timeline);
  const std::vector<const LaneIndex*> lanes(2000, &model.rows()[0].lanes[0]);
  const LoadCache cache;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cache.find(std::to_string(i), lanes), nullptr);
}

TEST(LoadCacheTest, ACacheThatIsReplacedStopsItsThread) {
  const Timeline timeline = makeReplicas(2, {.ranks = 4, .microBatches = 200, .steps = 20});
  const ChartModel model(timeline);
  const std::vector<const LaneIndex*> lanes(2000, &model.rows()[0].lanes[0]);
  LoadCache cache;
  EXPECT_EQ(cache.find("a", lanes), nullptr);
  cache = LoadCache();  // as a chart does that gets the colours of another theme
  EXPECT_EQ(cache.find("a", lanes), nullptr);
}

TEST(FoldedLoadTest, AFoldedReplicaShowsTheShareOfItsRanksThatCompute) {
  const Timeline timeline = makeReplicas(2, {.ranks = 4, .steps = 2});
  const ChartModel model(timeline);
  const RowTree& tree = model.rowTree(RowGrouping::kByRank);
  const RowNode& folded = tree[tree.find("replica 0")];
  const RowLayout layout(model.rows(), shownRows(tree, {}), RowHeights{});
  TimeAxis axis(model.span().begin, model.span().end, 500);
  for (int zoom = 0; zoom < 6; ++zoom) {
    const ChartView view{model, layout, axis, {0, 0, 500, 400}, 0};
    std::vector<double> busy(500);
    for (int rank = 0; rank < 4; ++rank) {
      const auto one = slowLoad(timeline.findTrack(rank, kComputeLane)->events, axis);
      for (std::size_t x = 0; x < busy.size(); ++x) busy[x] += one[x];
    }
    for (int x = 0; x < 500; ++x) {
      const double span = 4.0 * static_cast<double>(pixelTime(axis, x).span());
      EXPECT_NEAR(foldedShare(view, folded, x), busy[static_cast<std::size_t>(x)] / span, 1e-9);
    }
    axis.zoom(200, 1, 3);
  }
}

/// Keeps the columns that are drawn.
class ColumnCanvas : public Canvas {
 public:
  void fill(PixelRect rect, Color /*color*/) override { fills.push_back(rect); }
  void hatch(PixelRect, const Hatching&) override {}
  void columns(int, int, ColumnEdge, std::span<const Column> drawn) override {
    all.insert(all.end(), drawn.begin(), drawn.end());
  }
  void text(PixelRect, std::string_view, const TextStyle&) override {}
  int textWidth(std::string_view, const TextStyle&) override { return 0; }
  void line(std::span<const PixelPoint>, const Stroke&) override {}
  void curve(const std::array<PixelPoint, 4>&, const Stroke&) override {}
  void polygon(std::span<const PixelPoint>, Color) override {}
  void veil(PixelRect, Color, double) override {}
  void pushClip(PixelRect) override {}
  void popClip() override {}

  std::vector<PixelRect> fills;
  std::vector<Column> all;
};

TEST(FoldedLoadTest, ColumnsAreAsHighAsTheShareToAPixel) {
  const Timeline timeline = makeReplicas(2, {.ranks = 4, .steps = 2});
  const ChartModel model(timeline);
  const RowTree& tree = model.rowTree(RowGrouping::kByRank);
  const RowNode& folded = tree[tree.find("replica 0")];
  const RowLayout layout(model.rows(), shownRows(tree, {}), RowHeights{});
  const TimeAxis axis(model.span().begin, model.span().end, 500);
  const ChartView view{model, layout, axis, {20, 0, 500, 400}, 0};
  ColumnCanvas canvas;
  drawFoldedRow(canvas, view, folded, {100, 30});
  ASSERT_GT(canvas.all.size(), 300U);
  for (const Column& column : canvas.all) {
    EXPECT_NEAR(column.height, 30 * foldedShare(view, folded, column.x - 20), 1.0);
  }
}

TEST(CounterRowTest, EverySampleIsInsideTheColumnOfItsPixel) {
  Timeline timeline = makeTestTimeline({.ranks = 1, .steps = 1});
  const Timeline::Span span = timeline.span();
  CounterSeries series{0, "memory", "", {}};
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const double value = i == 7777 ? 1000 : static_cast<double>(random() % 100);
    series.samples.push_back({span.begin + (span.end - span.begin) * i / 20'000, value});
  }
  timeline.counters.push_back(series);
  const ChartModel model(timeline);
  const RowLayout layout(model.rows(), RowHeights{});
  const TimeAxis axis(model.span().begin, model.span().end, 300);
  const ChartView view{model, layout, axis, {0, 0, 300, 100}, 0};
  ColumnCanvas canvas;
  drawCounterRow(canvas, view, model.counters()[0], {0, 51});
  const auto isCovered = [&](int x, int y) {
    for (std::size_t i = 1; i < canvas.fills.size(); ++i) {  // the first is the background
      if (canvas.fills[i].contains(x, y)) return true;
    }
    return false;
  };
  for (const CounterSample& sample : series.samples) {
    const int y = 50 - static_cast<int>(sample.value / 1000 * 50 + 0.5);
    ASSERT_TRUE(isCovered(axis.xOf(sample.time), y)) << sample.value;
  }
  EXPECT_FALSE(isCovered(axis.xOf(series.samples[15'000].time), 0)) << "one sample reached 1000";
}

}  // namespace
}  // namespace pipetrace
