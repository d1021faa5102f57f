#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pipetrace {

/// How the rows of a chart are sorted. Numbers of pipelines and replicas are those of Topology.
enum class RowGrouping : std::uint8_t {
  kByRank,
  kByStage,
  kByPipeline,
  kByTensorPeers,  ///< the ranks of a replica that share the work of its stages
  kByDataPeers,    ///< the ranks of all replicas that do the same work on other data
  kByReplica       ///< the pipelines that train on the same data
};

inline constexpr std::size_t kRowGroupings = 6;

/// Which rows of a run are shown, and in which order. A plain value. Rows are named by the keys of
/// their nodes (RowNode::key), which stay the same when a run is opened again; keys that a run does
/// not have mean nothing there. The default shows a run as it is opened.
struct RowState {
  RowGrouping grouping = RowGrouping::kByRank;
  /// Shows only rows with this text in their names (rowMatches()); empty: all rows.
  std::string filter;
  /// Shows only these rows and those above them; not given: all rows. No part of how a run is
  /// remembered: the matches of a search.
  std::optional<std::set<std::string>> only;
  /// Whether a row is folded, for rows that differ from RowNode::startsFolded.
  std::map<std::string, bool> folded;
  std::set<std::string> hidden;
  std::vector<std::string> pinned;  ///< shown on top, in this order
  /// The order of the rows below a node, by its key (empty: of the whole chart), where it is not
  /// that of the run. Rows that it does not name come last.
  std::map<std::string, std::vector<std::string>> order;
  /// How high rows are in a window: one of these, or the pixels of a compute row. Pictures choose
  /// heights by themselves.
  int height = kUsualHeight;
  /// The usual height; more where there is room. Of many ranks low rows, which still have names.
  static constexpr int kUsualHeight = 0;
  static constexpr int kAllInView = -1;  ///< so low that all shown ranks are in view

  bool operator==(const RowState&) const = default;
};

}  // namespace pipetrace
