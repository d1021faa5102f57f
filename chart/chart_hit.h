#pragma once

#include <optional>

#include "chart/chart_view.h"

namespace pipetrace {

/// What lies under a pixel.
struct ChartHit {
  std::size_t row = 0;
  const Event* event = nullptr;  ///< of several, the one that lasts longest
  std::size_t count = 0;         ///< events that share the pixel
  LaneLoad load;                 ///< of the pixel, when they are several
  Nanoseconds span = 0;          ///< time that the pixel stands for, when they are several
};

/// The job at (x, y) of the canvas, or else the bubble; nothing where neither is.
std::optional<ChartHit> hitAt(const ChartView& view, int x, int y);

}  // namespace pipetrace
