#include "viewer/search/match_overlay.h"

#include <algorithm>

#include "viewer/search/chart_search.h"

namespace pipetrace {
namespace {

constexpr int kLeastWidth = 2;
constexpr int kFramedWidth = 5;

using Position = std::vector<std::uint32_t>::const_iterator;

/// The first match from `at` on that ends after `time`. It is near: steps double from there.
Position firstEndingAfter(const MatchList::Lane& lane, Position at, Nanoseconds time) {
  const LaneIndex& events = *lane.index;
  const Position end = lane.positions.end();
  std::ptrdiff_t step = 1;
  while (step < end - at && events[at[step]].end <= time) {
    at += step;
    step *= 2;
  }
  return std::partition_point(at, at + std::min(step, end - at),
                              [&](std::uint32_t position) { return events[position].end <= time; });
}

}  // namespace

void MatchOverlay::paint(QPainter& painter, const ChartView& view) {
  const MatchList* matches = search_.matches();
  if (matches == nullptr || &view.model != search_.model()) return;
  painter.save();
  painter.setPen(Qt::NoPen);
  for (const MatchList::Lane& lane : matches->lanes()) {
    const RowPlace row = view.layout[lane.row];
    const int top = view.yOf(row.top);
    if (row.height <= 0 || top >= view.area.bottom() || top + row.height <= view.area.y) continue;
    paintLane(painter, view, lane,
              lane.isBubbles ? row : RowLayout::subLane(row, lane.subLane, lane.subLanes));
  }
  painter.restore();
}

void MatchOverlay::paintLane(QPainter& painter, const ChartView& view, const MatchList::Lane& lane,
                             const RowPlace& place) {
  const QColor fill(255, 170, 0, 70);
  const QColor mark(230, 120, 0);
  const LaneIndex& events = *lane.index;
  const auto end = lane.positions.end();
  auto at = std::partition_point(lane.positions.begin(), end, [&](std::uint32_t position) {
    return events[position].end < view.axis.begin();
  });
  const int top = view.yOf(place.top);
  QRect marked(view.area.x, top, 0, place.height);  // narrow matches side by side
  while (at != end && events[*at].begin <= view.axis.end()) {
    const Event& event = events[*at];
    const int left = std::max(view.xOf(event.begin), view.area.x - kFramedWidth);
    const int right = std::min(std::max(view.xOf(event.end), left + kLeastWidth),
                               view.area.right() + kFramedWidth);
    ++at;
    if (right - left >= kFramedWidth) {
      const QRect box(left, top, right - left, place.height);
      painter.fillRect(box, fill);
      painter.setPen(QPen(mark, 2));
      painter.drawRect(box.adjusted(1, 1, -1, -1));
      continue;
    }
    if (left > marked.right() + 1) {
      painter.fillRect(marked, mark);
      marked.setLeft(left);
    }
    marked.setRight(std::max(marked.right(), right - 1));
    at = firstEndingAfter(lane, at, view.axis.timeAt(marked.right() + 1 - view.area.x));
  }
  painter.fillRect(marked, mark);
}

}  // namespace pipetrace
