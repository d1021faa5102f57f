#pragma once

#include <QPainter>

#include "chart/chart_view.h"

namespace pipetrace {

/// Something that a chart draws over its rows, such as the outline of the selection. On the GUI
/// thread.
class ChartOverlay {
 public:
  ChartOverlay() = default;
  ChartOverlay(const ChartOverlay&) = delete;
  ChartOverlay& operator=(const ChartOverlay&) = delete;
  virtual ~ChartOverlay() = default;

  /// Paints on the viewport; the painter is clipped to view.area. Must not keep the view.
  virtual void paint(QPainter& painter, const ChartView& view) = 0;
};

}  // namespace pipetrace
