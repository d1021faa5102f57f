#pragma once

#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Which column of a text stands for which time.
struct TextScale {
  Timeline::Span range;  ///< not empty
  int columns = 1;
  /// Where all times are multiples of a unit: each is a cell of `cell` columns, the last of them
  /// blank. Else 0.
  Nanoseconds unit = 0;
  int cell = 0;
  /// How long the chart is before `range`: labels count from its start.
  Nanoseconds before = 0;

  /// The column at whose left edge `time` lies, 0 .. columns: rounded, and to the edge where the
  /// time is outside the range.
  int columnAt(Nanoseconds time) const;
  /// How long a column is; not whole.
  double columnDuration() const;
};

/// Labels over the columns, at a round distance (1, 2 or 5 times a power of ten, of units where
/// there are any) that leaves room for them: "|0      |10 ms".
std::string axisText(const TextScale& scale);

}  // namespace pipetrace
