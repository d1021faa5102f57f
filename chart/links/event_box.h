#pragma once

#include <cstdint>

#include "chart/chart_view.h"

namespace pipetrace {

/// An event of a chart, and the row that it is in.
struct EventSpot {
  std::size_t row = 0;  ///< in ChartModel::rows()
  const Event* event = nullptr;
};

/// Where a row is, seen from the view.
enum class RowSide : std::uint8_t {
  kInView,  ///< at least a part of it
  kAbove,
  kBelow,
  kNotShown  ///< it has no place in the chart, as it is folded or left out
};

/// The pixels of an event.
struct EventBox {
  PixelRect rect;  ///< in a row that is not shown: of no height
  RowSide side = RowSide::kInView;

  double middleX() const { return rect.x + rect.width / 2.0; }
  double middleY() const { return rect.y + rect.height / 2.0; }
};

/// Where [begin, end) of an event would be drawn: in its sub-lane, a bubble over the whole row. It
/// is at least a pixel wide, and may be outside of view.area. Times out of view are at most
/// kBeyond pixels outside.
EventBox boxOf(const ChartView& view, const EventSpot& spot, Nanoseconds begin, Nanoseconds end);
inline EventBox boxOf(const ChartView& view, const EventSpot& spot) {
  return boxOf(view, spot, spot.event->begin, spot.event->end);
}

inline constexpr int kBeyond = 4000;

/// Whether `event` lies in the lane; by its address, without a look at it.
bool holds(const LaneIndex& lane, const Event* event);

}  // namespace pipetrace
