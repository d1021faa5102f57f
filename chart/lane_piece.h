#pragma once

#include <cstddef>
#include <vector>

#include "chart/lane_index.h"
#include "chart/time_axis.h"

namespace pipetrace {

/// A piece of a lane to draw, from pixel `left` to before pixel `right`. It is one event, if that
/// is wide enough or has its pixels to itself. Else it is a column: all events that fall into one
/// pixel.
struct LanePiece {
  int left = 0;
  int right = 0;
  std::size_t first = 0;  ///< position in the lane
  std::size_t count = 0;
  bool isColumn = false;
  LaneLoad load;         ///< the load of a column
  Nanoseconds span = 0;  ///< time that a column covers; load.busy / span is its share
};

/// The least width in pixels of an event that is drawn by itself.
inline constexpr int kMinCellWidth = 2;

/// Cuts the part of `lane` that `axis` shows into pieces and appends them from left to right. There
/// are at most two pieces per pixel, whatever the number of events. No event in view is left out.
void cutIntoPieces(const LaneIndex& lane, const TimeAxis& axis, std::vector<LanePiece>& pieces);

/// The same for the pixels [from, to) of the axis. It gives the pieces of the whole axis that touch
/// these.
void cutIntoPieces(const LaneIndex& lane, const TimeAxis& axis, int from, int to,
                   std::vector<LanePiece>& pieces);

}  // namespace pipetrace
