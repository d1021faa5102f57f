#pragma once

#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The scale of a text chart: which time each column stands for.
struct TextScale {
  Timeline::Span range;  ///< not empty
  int columns = 1;
  /// The unit of which all times are multiples; 0 if there is none. A unit is a cell of `cell`
  /// columns, the last of them blank.
  Nanoseconds unit = 0;
  int cell = 0;
  /// The time from the start of the chart to `range`. Labels count from the start of the chart.
  Nanoseconds before = 0;

  /// The column whose left edge is nearest to `time`, 0 .. columns. A time outside the range gives
  /// the first or the last.
  int columnAt(Nanoseconds time) const;
  /// The time that a column covers, in ns; not a whole number.
  double columnDuration() const;
};

/// The line of labels above the columns: "|0      |10 ms". Their distance is round (1, 2 or 5 times
/// a power of ten ns, or of units if there are any) and leaves room for them.
std::string axisText(const TextScale& scale);

}  // namespace pipetrace
