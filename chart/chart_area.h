#pragma once

#include <cstddef>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// A part of a chart: the stretch of time [begin, end) in some of its rows.
struct ChartArea {
  Timeline::Span time;
  std::vector<std::size_t> rows;  ///< indices into ChartModel::rows(), ascending

  bool operator==(const ChartArea& other) const {
    return time.begin == other.time.begin && time.end == other.time.end && rows == other.rows;
  }
};

}  // namespace pipetrace
