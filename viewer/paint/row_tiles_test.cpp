#include "viewer/paint/row_tiles.h"

#include <gtest/gtest.h>

#include <QScrollBar>
#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "chart/draw/draw_chart.h"
#include "chart/testing/replicas.h"
#include "trace/testing/is_sanitized.h"
#include "viewer/paint/qt_canvas.h"
#include "viewer/testing/shown_chart.h"

namespace pipetrace {
namespace {

/// Jobs and bubbles of all lengths, some of which touch or overlap.
Timeline unevenTimeline() {
  Timeline timeline = makeTestTimeline({.ranks = 6, .microBatches = 12, .steps = 40});
  std::mt19937 random(5);
  int number = 0;
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      if (track.lane != kBubbleLane) event.end -= event.duration() * (random() % 100) / 100;
      if (track.lane != kBubbleLane) continue;
      event.bubbleClass = static_cast<BubbleClass>(random() % kBubbleClassCount);
      event.peer = static_cast<std::int32_t>(random() % 6);
    }
    if (++number % 3 == 0) {  // sub-lanes
      const std::vector<Event> copy = track.events;
      for (Event event : copy) {
        event.begin += event.duration() / 3;
        event.end += event.duration() / 2;
        track.events.push_back(event);
      }
    }
  }
  timeline.sort();
  return timeline;
}

QImage blank(const ChartWidget& widget, double scale) {
  QImage image((QSizeF(widget.viewport()->size()) * scale).toSize(), QImage::Format_RGB32);
  image.setDevicePixelRatio(scale);
  image.fill(Qt::white);
  return image;
}

QImage paintedWith(RowTiles& tiles, const ChartWidget& widget, double scale) {
  QImage image = blank(widget, scale);
  QPainter painter(&image);
  FontCache fonts;
  tiles.paint(painter, widget.view(), fonts);
  return image;
}

QImage paintedDirectly(const ChartWidget& widget, double scale) {
  QImage image = blank(widget, scale);
  QPainter painter(&image);
  FontCache fonts;
  QtCanvas canvas(painter, fonts);
  drawRows(canvas, widget.view());
  return image;
}

/// A chart that random input has moved a little.
class MovedChart {
 public:
  explicit MovedChart(unsigned seed, Timeline timeline = unevenTimeline())
      : random_(seed), chart_(std::move(timeline), {900, 420}) {
    chart_.widget().setDragPans(true);
  }

  const ChartWidget& widget() const { return chart_.widget(); }
  void setRows(const RowState& rows) { chart_.widget().setRowState(rows); }

  void move() {
    const QPoint at(static_cast<int>(200 + random_() % 600), 300);
    switch (random_() % 10) {
      case 0:
      case 1: return chart_.wheel(at, {0, 120}, Qt::ControlModifier);
      case 2: return chart_.wheel(at, {0, -120}, Qt::ControlModifier);
      case 3:
        return chart_.widget().verticalScrollBar()->setValue(static_cast<int>(random_() % 400));
      case 4: return chart_.widget().resize(static_cast<int>(900 + random_() % 3), 420);
      default: {
        const int distance = static_cast<int>(random_() % 160) - 80;
        return chart_.drag({450, 300}, {450 + distance, 300});
      }
    }
  }

 private:
  std::mt19937 random_;
  ShownChart chart_;
};

void expectTheSamePixels(MovedChart& moved, double scale, unsigned seed, int moves,
                         const std::function<void(int)>& before) {
  RowTiles tiles;
  for (int i = 0; i < moves; ++i) {
    before(i);
    const QImage seen = paintedWith(tiles, moved.widget(), scale);
    const QImage expected = paintedDirectly(moved.widget(), scale);
    ASSERT_EQ(seen.size(), expected.size());
    if (seen == expected) {
      moved.move();
      continue;
    }
    int wrong = 0;
    QPoint first(-1, -1);
    for (int y = 0; y < seen.height(); ++y) {
      for (int x = 0; x < seen.width(); ++x) {
        if (seen.pixel(x, y) == expected.pixel(x, y)) continue;
        if (wrong++ == 0) first = {x, y};
      }
    }
    FAIL() << wrong << " pixels differ at scale " << scale << ", seed " << seed << ", move " << i
           << ", first " << first.x() << "," << first.y();
  }
}

void expectTheSamePixels(double scale) {
  for (unsigned seed = 1; seed <= test::drawn(4U); ++seed) {
    MovedChart moved(seed);
    expectTheSamePixels(moved, scale, seed, 60, [](int) {});
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Replicas, of which all but the slowest are folded, with counters.
Timeline foldedTimeline() {
  Timeline timeline = makeReplicas(3, {.ranks = 4, .microBatches = 12, .steps = 20});
  for (const auto& [rank, info] : timeline.ranks) {
    CounterSeries& counter = timeline.counters.emplace_back();
    counter.rank = rank;
    counter.name = "memory";
    for (int i = 0; i < 400; ++i) {
      counter.samples.push_back({kTestEpoch + i * 17 * kNsPerMs, i % 7 * 1.5});
    }
  }
  return timeline;
}

void expectTheSamePixelsOfATree(double scale) {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    MovedChart moved(seed, foldedTimeline());
    // A folded rank and pinned lanes, then a pinned counter and a pinned replica that is folded.
    RowState first;
    first.pinned = {"rank 10/recv", "rank 9/send"};
    first.folded = {{"rank 8", true}, {"replica 0", false}};
    RowState second;
    second.pinned = {"rank 8//counter/memory", "replica 0"};
    RowState third;
    third.grouping = RowGrouping::kByStage;
    expectTheSamePixels(moved, scale, seed, 60, [&](int i) {
      if (i == 0) moved.setRows(first);
      if (i == 25) moved.setRows(second);
      if (i == 40) moved.setRows(third);
      if (i == 50) moved.setRows(first);
      if (i != 0 && i != 25) return;
      const RowLayout& layout = moved.widget().view().layout;
      ASSERT_GT(layout.pinnedCount(), 1U);
      ASSERT_TRUE(std::any_of(layout.shown().begin(), layout.shown().end(),
                              [](const ShownRow& row) { return row.isLoad; }));
    });
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(RowTilesTest, TilesHaveThePixelsOfDirectPainting) { expectTheSamePixels(1); }
TEST(RowTilesTest, TilesHaveThePixelsOfDirectPaintingAtOneAndAHalf) { expectTheSamePixels(1.5); }
TEST(RowTilesTest, TilesHaveThePixelsOfDirectPaintingAtTwo) { expectTheSamePixels(2); }

TEST(RowTilesTest, FoldedAndPinnedRowsHaveThePixelsOfDirectPainting) {
  expectTheSamePixelsOfATree(1);
}
TEST(RowTilesTest, FoldedAndPinnedRowsHaveThePixelsOfDirectPaintingAtOneAndAHalf) {
  expectTheSamePixelsOfATree(1.5);
}
TEST(RowTilesTest, FoldedAndPinnedRowsHaveThePixelsOfDirectPaintingAtTwo) {
  expectTheSamePixelsOfATree(2);
}

TEST(RowTilesTest, PanningDrawsOnlyWhatIsNew) {
  ShownChart chart({.ranks = 4, .microBatches = 32, .steps = 200}, {1200, 640});
  chart.widget().setDragPans(true);
  for (int i = 0; i < 6; ++i) chart.wheel({700, 300}, {0, 120}, Qt::ControlModifier);
  RowTiles tiles;
  paintedWith(tiles, chart.widget(), 1);
  const std::int64_t all = tiles.drawnWidth();
  EXPECT_EQ(all % chart.widget().view().area.width, 0);
  EXPECT_GT(all, 0);
  paintedWith(tiles, chart.widget(), 1);
  EXPECT_EQ(tiles.drawnWidth(), 0) << "nothing has moved";
  chart.drag({600, 300}, {630, 300});
  paintedWith(tiles, chart.widget(), 1);
  EXPECT_GT(tiles.drawnWidth(), 0);
  EXPECT_LT(tiles.drawnWidth(), all / 8);
  chart.drag({600, 300}, {585, 300});
  paintedWith(tiles, chart.widget(), 1);
  EXPECT_LT(tiles.drawnWidth(), all / 8);
  tiles.clear();
  paintedWith(tiles, chart.widget(), 1);
  EXPECT_EQ(tiles.drawnWidth(), all);
}

TEST(RowTilesTest, ScrollingDrawsOnlyRowsThatAreNew) {
  ShownChart chart({.ranks = 60, .microBatches = 4, .steps = 2}, {1000, 500});
  QScrollBar* const bar = chart.widget().verticalScrollBar();
  ASSERT_GT(bar->maximum(), 200);
  RowTiles tiles;
  paintedWith(tiles, chart.widget(), 1);
  const std::int64_t all = tiles.drawnWidth();
  bar->setValue(60);
  paintedWith(tiles, chart.widget(), 1);
  EXPECT_LT(tiles.drawnWidth(), all / 2);
  bar->setValue(0);
  paintedWith(tiles, chart.widget(), 1);
  EXPECT_EQ(tiles.drawnWidth(), 0) << "rows that were left are kept a while";
}

TEST(RowTilesTest, AWidgetShowsTheBubblesThatAModelGetsLater) {
  Timeline timeline = makeTestTimeline({.hasBubbles = false});
  Timeline withBubbles = makeTestTimeline({});
  std::vector<Track> bubbles;
  for (const Track& track : withBubbles.tracks) {
    if (track.lane == kBubbleLane) bubbles.push_back(track);
  }
  ChartModel model(timeline);
  ChartWidget widget;
  widget.resize(900, 500);
  widget.setModel(&model);
  widget.show();
  const QImage before = widget.grab().toImage();
  model.add(ChartModel::indexed(bubbles));
  widget.modelHasChanged();
  ChartModel whole(withBubbles);
  ChartWidget other;
  other.resize(900, 500);
  other.setModel(&whole);
  other.show();
  EXPECT_NE(widget.grab().toImage(), before);
  EXPECT_EQ(widget.grab().toImage(), other.grab().toImage());
}

}  // namespace
}  // namespace pipetrace
