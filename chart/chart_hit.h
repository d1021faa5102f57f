#pragma once

#include <cstddef>
#include <optional>
#include <vector>

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

/// Finds the event of `hit`, which is of `from`, in another model of the same run: by rank, lane,
/// times, kind and id. Nothing if it has none. Takes time logarithmic in the lane's events.
std::optional<ChartHit> sameEvent(const ChartHit& hit, const ChartModel& from,
                                  const ChartModel& in);

/// The rows of the other model that show the same lanes as `rows` of `from`; ascending. Rows that
/// it lacks are left out.
std::vector<std::size_t> sameRows(const std::vector<std::size_t>& rows, const ChartModel& from,
                                  const ChartModel& in);

}  // namespace pipetrace
