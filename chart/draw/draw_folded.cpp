#include "chart/draw/draw_folded.h"

#include <algorithm>
#include <vector>

#include "chart/loads/load_cache.h"

namespace pipetrace {
namespace {

constexpr int kCurveShare = 90;        // of 256, of paper in the ink of a curve
constexpr int kUnderCurveShare = 205;  // and in what is under it
// Fewer are summed up lane by lane as fast.
constexpr std::size_t kManyLanes = 4;
constexpr std::size_t kManyEvents = 5000;

std::vector<PixelLoad> loadOf(const ChartView& view, const RowNode& node, const TimeAxis& axis) {
  std::vector<PixelLoad> pixels(static_cast<std::size_t>(axis.width()));
  std::vector<const LaneIndex*> lanes;
  std::size_t events = 0;
  for (const std::size_t row : node.loadRows) {
    for (const LaneIndex& lane : view.model.rows()[row].lanes) {
      lanes.push_back(&lane);
      events += lane.size();
    }
  }
  if (lanes.size() >= kManyLanes && events >= kManyEvents) {
    if (const auto sums = view.model.loads().find(node.key, lanes)) {
      sums->addTo(axis, pixels);
      return pixels;
    }
  }
  for (const LaneIndex* lane : lanes) addLoad(*lane, axis, pixels);
  return pixels;
}

double shareOf(const PixelLoad& pixel, const RowNode& node, Nanoseconds span) {
  const double all = static_cast<double>(std::max(node.loadOf, 1)) * static_cast<double>(span);
  return std::clamp(pixel.busy / all, 0.0, 1.0);
}

/// The values at the lower and the upper edge of a counter's row.
ValueRange scaleOf(const CounterIndex& counter) {
  ValueRange range = counter.range().value_or(ValueRange{0, 1});
  // A curve far above 0 that hardly moves would be flat on a scale from 0.
  const bool isFar = range.least > 0 && range.least > 0.9 * range.greatest;
  if (!isFar) range.least = std::min(range.least, 0.0);
  if (range.greatest < 0) range.greatest = 0;
  if (range.greatest <= range.least) range.greatest = range.least + 1;
  return range;
}

}  // namespace

double foldedShare(const ChartView& view, const RowNode& node, int x) {
  double busy = 0;
  const PixelTime time = pixelTime(view.axis, x);
  for (const std::size_t row : node.loadRows) {
    for (const LaneIndex& lane : view.model.rows()[row].lanes) {
      busy += static_cast<double>(lane.load(time.begin, time.end).busy);
    }
  }
  PixelLoad load;
  load.busy = busy;
  return shareOf(load, node, time.span());
}

void drawFoldedRow(Canvas& canvas, const ChartView& view, const RowNode& node, RowPlace place) {
  if (place.height <= 0) return;
  const Theme& theme = view.model.theme();
  canvas.fill({view.area.x, place.top, view.area.width, place.height}, theme.rowShade);
  const std::vector<PixelLoad> pixels = loadOf(view, node, view.axis);
  std::vector<Column> columns;
  for (int x = 0; x < static_cast<int>(pixels.size()); ++x) {
    const PixelLoad& pixel = pixels[static_cast<std::size_t>(x)];
    if (pixel.isEmpty) continue;
    const double share = shareOf(pixel, node, pixelTime(view.axis, x).span());
    const int height = static_cast<int>(share * place.height + 0.5);
    columns.push_back({view.area.x + x, std::clamp(height, 1, place.height),
                       pixel.busy > 0 ? pixel.color() : theme.faintInk});
  }
  canvas.columns(place.top, place.height, ColumnEdge::kBottom, columns);
}

void drawHeaderRow(Canvas& canvas, const ChartView& view, RowPlace place) {
  if (place.height <= 0) return;
  const Theme& theme = view.model.theme();
  canvas.fill({view.area.x, place.top + place.height / 2, view.area.width, 1}, theme.grid);
}

void drawCounterRow(Canvas& canvas, const ChartView& view, const CounterIndex& counter,
                    RowPlace place) {
  if (place.height <= 0) return;
  const Theme& theme = view.model.theme();
  canvas.fill({view.area.x, place.top, view.area.width, place.height}, theme.rowShade);
  const Color curve = mix(theme.ink, theme.paper, kCurveShare);
  const Color underCurve = mix(theme.ink, theme.paper, kUnderCurveShare);
  const ValueRange scale = scaleOf(counter);
  const auto heightOf = [&](double value) {
    const double share = (value - scale.least) / (scale.greatest - scale.least);
    return std::clamp(static_cast<int>(share * (place.height - 1) + 0.5), 0, place.height - 1);
  };
  std::vector<Column> under;
  struct Bar {
    int x, low, high;
  };
  std::vector<Bar> bars;
  for (int x = 0; x < view.area.width; ++x) {
    const PixelTime time = pixelTime(view.axis, x);
    const auto range = counter.in(time.begin, time.end);
    if (!range) continue;
    const int low = heightOf(range->least);
    const int high = heightOf(range->greatest);
    if (high > 0) under.push_back({view.area.x + x, high, underCurve});
    bars.push_back({x, low, high});
  }
  canvas.columns(place.top, place.height, ColumnEdge::kBottom, under);
  for (std::size_t i = 0; i < bars.size();) {  // one rectangle while the value stays
    std::size_t last = i + 1;
    while (last < bars.size() && bars[last].x == bars[last - 1].x + 1 &&
           bars[last].low == bars[i].low && bars[last].high == bars[i].high) {
      ++last;
    }
    // A step is drawn from the value before it.
    const bool follows = i > 0 && bars[i - 1].x + 1 == bars[i].x;
    const int low = follows ? std::min(bars[i].low, bars[i - 1].high) : bars[i].low;
    const int high = follows ? std::max(bars[i].high, bars[i - 1].low) : bars[i].high;
    canvas.fill({view.area.x + bars[i].x, place.bottom() - 1 - high, 1, high - low + 1}, curve);
    canvas.fill({view.area.x + bars[i].x, place.bottom() - 1 - bars[i].high,
                 static_cast<int>(last - i), bars[i].high - bars[i].low + 1},
                curve);
    i = last;
  }
}

void drawRowWithoutLanes(Canvas& canvas, const ChartView& view, const ShownRow& shown,
                         RowPlace place) {
  if (shown.node == RowNode::kNone) return;
  const RowNode& node = (*view.layout.tree())[shown.node];
  if (node.counter != RowNode::kNone) {
    drawCounterRow(canvas, view, view.model.counters()[node.counter], place);
  } else if (shown.isLoad) {
    drawFoldedRow(canvas, view, node, place);
  } else {
    drawHeaderRow(canvas, view, place);
  }
}

void drawPinnedEdge(Canvas& canvas, const ChartView& view) {
  const Theme& theme = view.model.theme();
  const int y = view.area.y + view.layout.pinnedHeight() - 1;
  canvas.fill({view.area.x, y, view.area.width, 1}, theme.stepLine);
}

}  // namespace pipetrace
