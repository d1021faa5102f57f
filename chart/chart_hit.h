#pragma once

#include <optional>

#include "chart/chart_view.h"

namespace pipetrace {

/// The event or events under a pixel.
struct ChartHit {
  std::size_t row = 0;
  const Event* event = nullptr;  ///< the longest of several
  std::size_t count = 0;         ///< events that share the pixel
  LaneLoad load;                 ///< the load of the pixel, if there are several
  Nanoseconds span = 0;          ///< time that the pixel covers, if there are several
};

/// The job at (x, y) of the canvas, else the bubble there; nothing if there is neither. In the
/// strip that RowLayout::idleStrip() leaves free, the bubble comes first.
std::optional<ChartHit> hitAt(const ChartView& view, int x, int y);

}  // namespace pipetrace
