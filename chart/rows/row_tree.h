#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chart/lane_index.h"
#include "chart/rows/counter_index.h"
#include "chart/rows/row_state.h"
#include "trace/step_windows.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// Where a rank stands in its run, as far as the run knows.
struct RankShape {
  int rank = 0;
  std::string host;         ///< empty: not known
  int replica = 0;          ///< the number of its pipeline, as in Topology
  std::vector<int> stages;  ///< of its compute jobs, ascending
  /// Where ranks of its pipeline share the micro-batches of its stage: whose turn is its own, from
  /// 0, and of how many. Else of one.
  int turn = 0;
  int turns = 1;
  double work = 0;  ///< the sum of the durations of its compute jobs, ns
};

/// The ranks of a run, ascending: those that have a track or a counter.
struct RunShape {
  std::vector<RankShape> ranks;
  int tensorRanks = 1;  ///< as in Topology
  /// Whose steps last longest in sum. Where gradients are added up, replicas end together: of those
  /// within a hundredth of the longest, the one whose ranks work most; of several the first.
  std::optional<int> slowestReplica;
};

/// `windows`: stepWindows() of both.
RunShape runShapeOf(const Timeline& timeline, const Topology& topology,
                    const std::vector<StepWindow>& windows);

/// One of several pipelines, numbered as in Topology: "replica 1"; "replica 1, tensor rank 0".
/// Peers are no replicas: "tensor rank 0" where there is a single one of these.
std::string pipelineName(int pipeline, int tensorRanks, bool hasReplicas);

/// "stage 2", "stages 0, 4", "stages 0 … 7"; empty for none. Ascending.
std::string stagesText(const std::vector<int>& stages);

enum class RowKind : std::uint8_t {
  kHost,
  kReplica,
  kStage,
  kRank,
  kLane,
  kOtherLanes,  ///< lanes of a rank that hold no pipeline work
  kCounter
};

/// Whether rows of that kind hold ranks.
constexpr bool holdsRanks(RowKind kind) { return kind <= RowKind::kStage; }

/// The detail of a rank whose first row is `row`: with the name of its lane, unless that is the
/// compute lane.
std::string rankDetail(const ChartRow& row, const std::string& detail);

/// One row of a run, and the rows below it.
struct RowNode {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  RowKind kind = RowKind::kLane;
  std::string key;                    ///< names the row in a RowState: "rank 3", "rank 3/send"
  std::string label;                  ///< "rank 3", "send"
  std::string detail;                 ///< under it: "stage 3", "4 ranks"; may be empty
  std::string names;                  ///< what a filter looks at, a name a line
  std::size_t parent = kNone;         ///< kNone: of the whole chart
  std::vector<std::size_t> children;  ///< in the order of the run
  std::size_t row = kNone;            ///< a rank or a lane: the index into the chart's rows
  std::size_t counter = kNone;        ///< a counter: the index into the chart's counters
  bool isOneLine = false;             ///< the detail stands beside the label, not under it
  bool startsFolded = false;
  /// The rows whose load a folded row shows: the compute rows of all ranks below it, or all of its
  /// lanes. Ascending.
  std::vector<std::size_t> loadRows;
  int loadOf = 1;  ///< the load is 1 when as many ranks, or lanes, are busy
  /// Of a group of pipelines, peers or replicas: the compute row of the rank with most work
  /// (RankShape::work), which the folded group shows in place of a load; and what is said of it.
  std::size_t slowest = kNone;
  std::string slowestDetail = {};
};

/// The rows of a run as a tree: host, replica, stage, rank, lane. A level with a single entry is
/// left out. Immutable.
///
/// By rank, replicas hold ranks; hosts hold replicas, or replicas hold hosts where a replica runs
/// on several. All replicas but the slowest start folded. By stage, a stage holds its ranks of all
/// replicas and hosts; a rank with several stages stands once, in the place of its first one. The
/// header names all stages. Where no stage has several ranks, the ranks stand alone, in the
/// order of their stages; where there are many ranks, stages start folded.
///
/// By pipeline, peers or replica there is one level of groups, without hosts. All pipelines and
/// replicas but the slowest start folded, groups of peers where there are many ranks. A run with a
/// single group, or with groups of one rank, has none.
///
/// Under a rank stand its other lanes and its counters. Two or more lanes that hold no pipeline
/// work (only events of kind kOther) stand in a row of their own, which starts folded.
class RowTree {
 public:
  RowTree() = default;
  RowTree(const std::vector<ChartRow>& rows, const std::vector<CounterIndex>& counters,
          const RunShape& shape, RowGrouping grouping);

  const RowNode& operator[](std::size_t node) const { return nodes_[node]; }
  std::size_t size() const { return nodes_.size(); }
  /// The nodes of the whole chart.
  const std::vector<std::size_t>& top() const { return top_; }
  const std::vector<std::size_t>& childrenOf(std::size_t parent) const {
    return parent == RowNode::kNone ? top_ : nodes_[parent].children;
  }
  /// The node with that key; kNone if there is none.
  std::size_t find(std::string_view key) const;
  /// The number of the chart's rows.
  std::size_t rowCount() const { return nodeOfRow_.size(); }
  /// The node of a row of the chart.
  std::size_t nodeOf(std::size_t row) const { return nodeOfRow_[row]; }
  bool canFold(std::size_t node) const;

 private:
  friend class RowTreeBuilder;

  std::vector<RowNode> nodes_;
  std::vector<std::size_t> top_;
  std::vector<std::size_t> nodeOfRow_;
  std::vector<bool> isDeep_;  // a lane with several sub-lanes, by node
  std::unordered_map<std::string, std::size_t> byKey_;
};

}  // namespace pipetrace
