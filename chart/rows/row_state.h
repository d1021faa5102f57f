#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace pipetrace {

/// How the rows of a chart are sorted.
enum class RowGrouping : std::uint8_t { kByRank, kByStage };

/// Which rows of a run are shown, and in which order. A plain value. Rows are named by the keys of
/// their nodes (RowNode::key), which stay the same when a run is opened again; keys that a run does
/// not have mean nothing there. The default shows a run as it is opened.
struct RowState {
  RowGrouping grouping = RowGrouping::kByRank;
  /// Shows only rows with this text in their names (rowMatches()); empty: all rows.
  std::string filter;
  /// Whether a row is folded, for rows that differ from RowNode::startsFolded.
  std::map<std::string, bool> folded;
  std::set<std::string> hidden;
  std::vector<std::string> pinned;  ///< shown on top, in this order
  /// The order of the rows below a node, by its key (empty: of the whole chart), where it is not
  /// that of the run. Rows that it does not name come last.
  std::map<std::string, std::vector<std::string>> order;

  bool operator==(const RowState&) const = default;
};

}  // namespace pipetrace
