#pragma once

#include <string>
#include <vector>

#include "chart/lane_index.h"

namespace pipetrace {

/// One lane of one rank, with sub-lanes where its events overlap.
struct ChartRow {
  int rank = 0;
  std::string lane;
  bool isCompute = false;
  std::vector<LaneIndex> lanes;    ///< the sub-lanes; at least one, maybe without events
  std::vector<LaneIndex> bubbles;  ///< the rank's idle time, drawn in its compute row
  std::string rankLabel;           ///< "rank 0" on the first row of a rank, else empty
  std::string rankDetail;          ///< under it: "stage 0", "stages 0, 4"
};

}  // namespace pipetrace
