#pragma once

#include "chart/chart_view.h"
#include "viewer/chart/chart_overlay.h"

namespace pipetrace {

class ChartWidget;

/// The pixels of the canvas from the first to the last row of the area that is shown; without a
/// height if none is. Its sides are limited to a little beyond the view.
PixelRect rectOf(const ChartView& view, const ChartArea& area);

/// Tints the area of a chart, and says how long it is.
class AreaOverlay : public ChartOverlay {
 public:
  /// The chart must outlive it.
  explicit AreaOverlay(const ChartWidget& chart) : chart_(chart) {}

  void paint(QPainter& painter, const ChartView& view) override;

 private:
  void paintLength(QPainter& painter, const ChartView& view, const PixelRect& rect) const;

  const ChartWidget& chart_;
};

}  // namespace pipetrace
