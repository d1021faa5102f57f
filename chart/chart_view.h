#pragma once

#include "chart/chart_model.h"
#include "chart/pixel_rect.h"
#include "chart/row_layout.h"
#include "chart/time_axis.h"

namespace pipetrace {

/// The visible part of a model: the axis lies along `area`, and the rows begin at pixel `scrollY`
/// of the layout. Refers to model, axis and layout.
struct ChartView {
  const ChartModel& model;
  const RowLayout& layout;
  const TimeAxis& axis;
  PixelRect area;
  int scrollY = 0;
  bool showsClasses = true;  ///< bubbles have tints and texts of their classes, or are plain idle

  int xOf(Nanoseconds time) const { return area.x + axis.xOf(time); }
  int yOf(int layoutY) const { return area.y + layoutY - scrollY; }
  /// The pixel of the layout that is at `y` of the canvas.
  int layoutYAt(int y) const { return y - area.y + scrollY; }
};

}  // namespace pipetrace
