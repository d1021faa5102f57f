#pragma once

#include <vector>

#include "chart/lane_index.h"
#include "chart/time_axis.h"

namespace pipetrace {

/// The sum of the loads of several lanes in one pixel column.
struct PixelLoad {
  double busy = 0;  ///< ns
  double red = 0;   ///< colours times ns
  double green = 0;
  double blue = 0;
  bool isEmpty = true;  ///< no event, not even one of no length

  /// The mean of the colours; black where nothing is busy.
  Color color() const;
};

/// Adds the load of the lane in each pixel column of the axis to `pixels`, which has axis.width()
/// of them. It costs at most as much as there are pixels, whatever the number of events.
void addLoad(const LaneIndex& lane, const TimeAxis& axis, std::vector<PixelLoad>& pixels);

/// The time that pixel `x` covers. A pixel that is shorter than a nanosecond may hold none; it
/// shows the one that begins before it.
struct PixelTime {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  Nanoseconds span() const { return end - begin; }
};
PixelTime pixelTime(const TimeAxis& axis, int x);

}  // namespace pipetrace
