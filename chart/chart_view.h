#pragma once

#include "chart/chart_model.h"
#include "chart/pixel_rect.h"
#include "chart/row_layout.h"
#include "chart/time_axis.h"

namespace pipetrace {

/// Which part of a model is seen where: the axis along `area`, the rows from `scrollY` pixels of
/// the layout on. Refers to all of them.
struct ChartView {
  const ChartModel& model;
  const RowLayout& layout;
  const TimeAxis& axis;
  PixelRect area;
  int scrollY = 0;

  int xOf(Nanoseconds time) const { return area.x + axis.xOf(time); }
  int yOf(int layoutY) const { return area.y + layoutY - scrollY; }
};

}  // namespace pipetrace
