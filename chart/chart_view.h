#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "chart/chart_model.h"
#include "chart/lane_index.h"
#include "chart/pixel_rect.h"
#include "chart/row_layout.h"
#include "chart/time_axis.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A row in view: its place on the canvas, which may reach beyond the view.
struct RowInView {
  const ShownRow* row = nullptr;
  RowPlace place;
  bool isPinned = false;
};

/// The visible part of a model: the axis lies along `area`, and the rows begin at pixel `scrollY`
/// of the layout. Pinned rows stay on top of it. Refers to model, axis and layout.
struct ChartView {
  const ChartModel& model;
  const RowLayout& layout;
  const TimeAxis& axis;
  PixelRect area;
  int scrollY = 0;
  bool showsClasses = true;  ///< bubbles have tints and texts of their classes, or are plain idle

  int xOf(Nanoseconds time) const { return area.x + axis.xOf(time); }
  int yOf(int layoutY) const {
    return area.y + layoutY - (layoutY < layout.pinnedHeight() ? 0 : scrollY);
  }
  /// The pixel of the layout that is at `y` of the canvas.
  int layoutYAt(int y) const {
    return y - area.y + (y - area.y < layout.pinnedHeight() ? 0 : scrollY);
  }
  /// The part of the area that pinned rows leave.
  PixelRect scrolledArea() const {
    const int pinned = std::min(layout.pinnedHeight(), area.height);
    return {area.x, area.y + pinned, area.width, area.height - pinned};
  }
  /// The part of the area in which pinned rows, or the others, are drawn.
  PixelRect clipOf(bool isPinned) const {
    const PixelRect scrolled = scrolledArea();
    return isPinned ? PixelRect{area.x, area.y, area.width, scrolled.y - area.y} : scrolled;
  }
  /// The rows that are at least partly in view, from the top.
  std::vector<RowInView> rowsInView() const {
    std::vector<RowInView> rows;
    for (std::size_t i = 0; i < layout.pinnedCount(); ++i) {
      const RowPlace place = layout.placeOf(i);
      rows.push_back({&layout.shown()[i], {area.y + place.top, place.height}, true});
    }
    const std::size_t count = layout.shown().size();
    for (std::size_t i = layout.firstBelow(scrollY + layout.pinnedHeight()); i < count; ++i) {
      const RowPlace place = layout.placeOf(i);
      if (place.top >= scrollY + area.height) break;
      rows.push_back({&layout.shown()[i], {area.y + place.top - scrollY, place.height}, false});
    }
    return rows;
  }
};

/// A part of a chart: the stretch of time [begin, end) in some of its rows.
struct ChartArea {
  Timeline::Span time;
  std::vector<std::size_t> rows;  ///< indices into ChartModel::rows(), ascending

  bool operator==(const ChartArea& other) const {
    return time.begin == other.time.begin && time.end == other.time.end && rows == other.rows;
  }
};

}  // namespace pipetrace
