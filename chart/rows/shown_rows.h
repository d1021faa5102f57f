#pragma once

#include <string_view>
#include <vector>

#include "chart/rows/row_tree.h"

namespace pipetrace {

/// One row of the list that a chart shows. Refers to the tree, or to the chart's rows.
struct ShownRow {
  RowKind kind = RowKind::kLane;
  std::size_t node = RowNode::kNone;  ///< in the tree; kNone in a list without one
  /// The chart's row whose lanes it shows, of a folded group RowNode::slowest; kNone: no lanes.
  std::size_t row = RowNode::kNone;
  int depth = 0;
  bool canFold = false;
  bool isFolded = false;
  /// Whether it shows the load of RowNode::loadRows in place of lanes.
  bool isLoad = false;
  bool isOneLine = false;   ///< as of its node
  std::string_view prefix;  ///< "rank 3" of a pinned lane, which stands without its rank
  std::string_view label;
  std::string_view detail;

  /// Whether it shows the lanes of `row`: it is neither folded, a header nor a counter.
  bool showsLanes() const { return row != RowNode::kNone && !isLoad; }
};

/// The rows that a chart shows, from the top: first the pinned ones.
struct ShownRows {
  const RowTree* tree = nullptr;  ///< null for plainRows()
  std::vector<ShownRow> rows;
  std::size_t pinned = 0;
  /// By the chart's rows: the index of the shown row that stands for it, itself or one above it;
  /// kNone where neither is shown.
  std::vector<std::size_t> shownAs;
};

/// The rows of a tree in a state: folded nodes stand alone; hidden ones, and those that the filter
/// or RowState::only leaves out, are missing with all below them. Nodes above a row that the filter
/// finds are unfolded. A header of which no row is left is missing, too.
ShownRows shownRows(const RowTree& tree, const RowState& state);

/// All rows of the chart in its order, without headers.
ShownRows plainRows(const std::vector<ChartRow>& rows);

/// Whether the filter finds a name. It looks for any of its parts between commas, and takes small
/// and capital letters for the same. A number at the end of a part is a whole one: "rank 1" does
/// not find "rank 12". An empty filter finds all.
bool rowMatches(std::string_view filter, std::string_view name);

/// The children of a node (kNone: the top of the tree), in the order of the state.
std::vector<std::size_t> orderedChildren(const RowTree& tree, const RowState& state,
                                         std::size_t parent);

bool isFolded(const RowTree& tree, const RowState& state, std::size_t node);

}  // namespace pipetrace
