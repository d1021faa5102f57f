#pragma once

#include <cstddef>
#include <vector>

#include "chart/lane_index.h"
#include "chart/time_axis.h"

namespace pipetrace {

/// What is drawn of a lane from pixel `left` to before pixel `right`: one event that is wide enough
/// to be seen by itself or has its pixels to itself, or everything that falls into one pixel
/// column.
struct LanePiece {
  int left = 0;
  int right = 0;
  std::size_t first = 0;  ///< position in the lane
  std::size_t count = 0;
  bool isColumn = false;
  LaneLoad load;         ///< of a column
  Nanoseconds span = 0;  ///< time that a column stands for; load.busy / span is its share
};

/// Pixels from which on an event is drawn by itself.
inline constexpr int kMinCellWidth = 2;

/// Cuts what `axis` shows of `lane` into pieces from left to right and appends them: at most two
/// per pixel, whatever the number of events. No event in view is left out.
void cutIntoPieces(const LaneIndex& lane, const TimeAxis& axis, std::vector<LanePiece>& pieces);

}  // namespace pipetrace
