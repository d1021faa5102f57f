#pragma once

#include <string>

#include "chart/chart_model.h"
#include "chart/rows/shown_rows.h"

namespace pipetrace {

/// The shown rows as text for tests: a line a row, two blanks a level, "+" folded, "-" unfolded,
/// "." not to be folded; a line of dashes below the pinned ones.
inline std::string rowsText(const ShownRows& shown) {
  std::string text;
  for (std::size_t i = 0; i < shown.rows.size(); ++i) {
    const ShownRow& row = shown.rows[i];
    if (i == shown.pinned && i > 0) text += "----\n";
    text += std::string(2 * static_cast<std::size_t>(row.depth), ' ');
    text += row.isFolded ? "+ " : row.canFold ? "- " : ". ";
    if (!row.prefix.empty()) text += std::string(row.prefix) + ": ";
    text += std::string(row.label) + "\n";
  }
  return text;
}

inline std::string rowsText(const ChartModel& model, const RowState& state = {}) {
  return rowsText(shownRows(model.rowTree(state.grouping), state));
}

}  // namespace pipetrace
