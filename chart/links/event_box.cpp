#include "chart/links/event_box.h"

#include <algorithm>
#include <functional>

namespace pipetrace {
namespace {

RowPlace placeIn(const ChartRow& row, const RowPlace& place, const Event* event) {
  for (std::size_t i = 0; row.lanes.size() > 1 && i < row.lanes.size(); ++i) {
    const LaneIndex& lane = row.lanes[i];
    if (!holds(lane, event)) continue;
    // Sub-lanes take turns in one array, so an address alone does not tell them apart.
    for (std::size_t at = lane.firstBeginningAt(event->begin);
         at < lane.size() && lane[at].begin == event->begin; ++at) {
      if (&lane[at] == event) return RowLayout::subLane(place, i, row.lanes.size());
    }
  }
  return place;
}

}  // namespace

bool holds(const LaneIndex& lane, const Event* event) {
  const std::less_equal<const Event*> isUpTo;
  return lane.size() > 0 && isUpTo(&lane[0], event) && isUpTo(event, &lane[lane.size() - 1]);
}

EventBox boxOf(const ChartView& view, const EventSpot& spot, Nanoseconds begin, Nanoseconds end) {
  EventBox box;
  const auto x = [&](Nanoseconds time) {
    return std::clamp(view.xOf(time), view.area.x - kBeyond, view.area.right() + kBeyond);
  };
  box.rect.x = x(begin);
  box.rect.width = std::max(x(end) - box.rect.x, 1);
  if (spot.row >= view.layout.size() || view.layout[spot.row].height <= 0) {
    box.side = RowSide::kNotShown;
    box.rect.y = spot.row < view.layout.size() ? view.yOf(view.layout[spot.row].top) : view.area.y;
    return box;
  }
  const RowPlace place = placeIn(view.model.rows()[spot.row], view.layout[spot.row], spot.event);
  box.rect.y = view.yOf(place.top);
  box.rect.height = place.height;
  if (box.rect.bottom() <= view.area.y) box.side = RowSide::kAbove;
  if (box.rect.y >= view.area.bottom()) box.side = RowSide::kBelow;
  return box;
}

}  // namespace pipetrace
