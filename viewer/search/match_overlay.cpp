#include "viewer/search/match_overlay.h"

#include <algorithm>

#include "viewer/search/chart_search.h"

namespace pipetrace {
namespace {

constexpr int kLeastWidth = 2;
constexpr int kFramedWidth = 5;

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
  while (at != end && events[*at].begin <= view.axis.end()) {
    const Event& event = events[*at];
    const int left = std::max(view.xOf(event.begin), view.area.x - kFramedWidth);
    const int right = std::min(std::max(view.xOf(event.end), left + kLeastWidth),
                               view.area.right() + kFramedWidth);
    const QRect box(left, top, right - left, place.height);
    if (box.width() < kFramedWidth) {
      painter.fillRect(box, mark);
    } else {
      painter.fillRect(box, fill);
      painter.setPen(QPen(mark, 2));
      painter.drawRect(box.adjusted(1, 1, -1, -1));
    }
    // All that fall into pixels that are painted are passed over at once.
    const Nanoseconds next = view.axis.timeAt(right - view.area.x);
    ++at;
    if (box.width() <= kLeastWidth) {
      at = std::partition_point(
          at, end, [&](std::uint32_t position) { return events[position].end <= next; });
    }
  }
}

}  // namespace pipetrace
