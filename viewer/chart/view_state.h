#pragma once

#include <optional>

#include "chart/chart_area.h"
#include "chart/chart_hit.h"
#include "chart/rows/row_state.h"

namespace pipetrace {

/// Where a chart looks and what is selected in it: all that undoing brings back. The selection
/// refers to the chart's model.
struct ViewState {
  Nanoseconds begin = 0;  ///< of the time in view
  Nanoseconds end = 0;
  bool isFitted = true;  ///< the whole run, also when the run grows
  int scrollY = 0;       ///< pixels
  std::optional<ChartHit> selection;
  std::optional<ChartArea> area;
  RowState rows;

  bool hasSelectionOf(const ViewState& other) const {
    if (!selection || !other.selection) return selection.has_value() == other.selection.has_value();
    return selection->event == other.selection->event && selection->row == other.selection->row;
  }
  bool hasTimeOf(const ViewState& other) const { return begin == other.begin && end == other.end; }
  bool operator==(const ViewState& other) const {
    return hasTimeOf(other) && scrollY == other.scrollY && area == other.area &&
           rows == other.rows && hasSelectionOf(other);
  }
};

}  // namespace pipetrace
