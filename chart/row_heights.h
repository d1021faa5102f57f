#pragma once

namespace pipetrace {

/// Heights of rows, in pixels.
struct RowHeights {
  int compute = 38;  ///< a compute row
  int lane = 18;     ///< any other row; 0 leaves them out
  int laneGap = 2;   ///< between rows of one rank
  int rankGap = 12;  ///< between ranks
};

}  // namespace pipetrace
