#include "chart/rows/row_tree.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "trace/text/number_text.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {

namespace {

constexpr std::size_t kManyRanks = 16;  // by stage
constexpr std::size_t kDeepLane = 5;    // sub-lanes of a lane without pipeline work

/// Whether any event of the row is of a known kind.
bool holdsWork(const ChartRow& row) {
  if (row.isCompute) return true;
  return std::any_of(row.lanes.begin(), row.lanes.end(), [](const LaneIndex& lane) {
    for (std::size_t i = 0; i < lane.size(); ++i) {
      if (lane[i].kind != JobKind::kOther) return true;
    }
    return false;
  });
}

/// A row that stands under its rank and holds no message and no job: collectives, copies.
bool isAside(const ChartRow& row) {
  if (row.isCompute) return false;
  return std::none_of(row.lanes.begin(), row.lanes.end(), [](const LaneIndex& lane) {
    return lane.size() > 0 && (isTransfer(lane[0].kind) || isComputeLane(lane[0].kind));
  });
}

}  // namespace

std::string rankDetail(const ChartRow& row, const std::string& detail) {
  if (row.isCompute) return detail;
  return detail.empty() ? row.lane : detail + ", " + row.lane;
}

/// Builds a tree from the top, level by level.
class RowTreeBuilder {
 public:
  /// A rank and what stands under it.
  struct Rank {
    const RankShape* shape = nullptr;
    std::vector<std::size_t> rows;
    std::vector<std::size_t> counters;
  };
  using Ranks = std::vector<const Rank*>;

  RowTreeBuilder(RowTree& tree, const std::vector<ChartRow>& rows,
                 const std::vector<CounterIndex>& counters, const RunShape& shape)
      : tree_(tree), rows_(rows), counters_(counters), shape_(shape) {
    tree_.nodeOfRow_.resize(rows.size(), RowNode::kNone);
    std::map<int, std::size_t> positions;
    for (const RankShape& rank : shape.ranks) {
      positions[rank.rank] = ranks_.size();
      ranks_.push_back({&rank, {}, {}});
      replicas_.insert(rank.replica);
      hostsOfReplica_[rank.replica].insert(rank.host);
      hasReplicas_ = hasReplicas_ || replicaOf(rank) != replicaOf(shape.ranks.front());
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ranks_[positions.at(rows[i].rank)].rows.push_back(i);
    }
    for (std::size_t i = 0; i < counters.size(); ++i) {
      ranks_[positions.at(counters[i].rank())].counters.push_back(i);
    }
  }

  void buildByRank() {
    // A replica that runs on several hosts holds them; else hosts hold replicas.
    const bool replicasSpread =
        std::any_of(hostsOfReplica_.begin(), hostsOfReplica_.end(),
                    [](const auto& entry) { return entry.second.size() > 1; });
    const Level host{RowKind::kHost, [](const RankShape& r) { return r.host; },
                     [](const RankShape& r) {
                       return r.host.empty() ? std::string("unknown host") : "host " + r.host;
                     }};
    const Level replica{RowKind::kReplica,
                        [](const RankShape& r) {
                          std::string number = std::to_string(r.replica);
                          return std::string(9 - std::min<std::size_t>(number.size(), 9), '0') +
                                 number;  // sorted as a number
                        },
                        [this](const RankShape& r) { return nameOfPipeline(r); }};
    levels_ = replicasSpread ? std::vector{replica, host} : std::vector{host, replica};
    addLevel(0, all(), RowNode::kNone);
  }

  /// Pipelines, peers or replicas.
  void buildGroups(RowGrouping grouping) {
    std::map<std::pair<int, std::vector<int>>, Ranks> groups;
    for (const Rank& rank : ranks_) groups[groupOf(grouping, *rank.shape)].push_back(&rank);
    const bool hasHeaders =
        groups.size() > 1 && std::any_of(groups.begin(), groups.end(),
                                         [](const auto& group) { return group.second.size() > 1; });
    for (const auto& [numbers, ranks] : groups) {
      std::size_t parent = RowNode::kNone;
      if (hasHeaders) parent = addGroup(grouping, ranks);
      for (const Rank* rank : ranks) addRank(*rank, parent, false);
    }
  }

  void buildByStage() {
    std::map<int, Ranks> byStage;
    for (const Rank& rank : ranks_) {
      const auto& stages = rank.shape->stages;
      byStage[stages.empty() ? kNoStage : stages.front()].push_back(&rank);
    }
    const bool hasHeaders =
        byStage.size() > 1 && std::any_of(byStage.begin(), byStage.end(), [](const auto& entry) {
          return entry.first != kNoStage && entry.second.size() > 1;
        });
    for (const auto& [stage, ranks] : byStage) {
      std::size_t parent = RowNode::kNone;
      if (hasHeaders) {
        const std::string key = stage == kNoStage ? "no stage" : "stage " + std::to_string(stage);
        parent = addHeader(RowKind::kStage, key, stageName(key, ranks), RowNode::kNone, ranks);
        tree_.nodes_[parent].startsFolded = ranks_.size() > kManyRanks;
      }
      for (const Rank* rank : ranks) addRank(*rank, parent, true);
    }
  }

 private:
  static constexpr int kNoStage = std::numeric_limits<int>::max();

  int replicaOf(const RankShape& rank) const {
    return rank.replica / std::max(shape_.tensorRanks, 1);
  }
  int tensorRankOf(const RankShape& rank) const {
    return rank.replica % std::max(shape_.tensorRanks, 1);
  }

  /// The same for all ranks of a group.
  std::pair<int, std::vector<int>> groupOf(RowGrouping grouping, const RankShape& rank) const {
    switch (grouping) {
      case RowGrouping::kByPipeline: return {rank.replica, {}};
      case RowGrouping::kByTensorPeers: return {replicaOf(rank), rank.stages};
      case RowGrouping::kByDataPeers: return {tensorRankOf(rank), rank.stages};
      default: return {replicaOf(rank), {}};
    }
  }

  std::size_t addGroup(RowGrouping grouping, const Ranks& ranks) {
    const RankShape& first = *ranks.front()->shape;
    const bool arePeers =
        grouping == RowGrouping::kByTensorPeers || grouping == RowGrouping::kByDataPeers;
    const std::string stages = first.stages.empty() ? "no stage" : stagesText(first.stages);
    std::string name;
    switch (grouping) {
      case RowGrouping::kByPipeline: name = "pipeline " + std::to_string(first.replica); break;
      case RowGrouping::kByReplica: name = "replica " + std::to_string(replicaOf(first)); break;
      case RowGrouping::kByTensorPeers:
        name =
            hasReplicas_ ? "replica " + std::to_string(replicaOf(first)) + ", " + stages : stages;
        break;
      default:
        name = shape_.tensorRanks > 1
                   ? stages + ", tensor rank " + std::to_string(tensorRankOf(first))
                   : stages;
    }
    const std::string key = (arePeers ? "peers of " : "") + name;
    const std::size_t index =
        addHeader(arePeers ? RowKind::kStage : RowKind::kReplica, key, name, RowNode::kNone, ranks);
    RowNode& node = tree_.nodes_[index];
    node.startsFolded = arePeers ? ranks_.size() > kManyRanks : !holdsSlowest(ranks);
    const Rank* slowest = nullptr;
    for (const Rank* const rank : ranks) {
      const bool hasJobs = !rank->rows.empty() && rows_[rank->rows.front()].isCompute;
      if (hasJobs && (slowest == nullptr || rank->shape->work > slowest->shape->work)) {
        slowest = rank;
      }
    }
    if (slowest == nullptr) return index;
    node.slowest = slowest->rows.front();
    node.slowestDetail = "rank " + std::to_string(slowest->shape->rank) + ", most work of " +
                         std::to_string(ranks.size());
    return index;
  }

  /// A level above the ranks: how it tells them apart, and how it names them.
  struct Level {
    RowKind kind;
    std::function<std::string(const RankShape&)> order;
    std::function<std::string(const RankShape&)> name;
  };

  Ranks all() const {
    Ranks ranks;
    for (const Rank& rank : ranks_) ranks.push_back(&rank);
    return ranks;
  }

  /// All stages of the ranks, if they have the same ones.
  static std::string stageName(const std::string& key, const Ranks& ranks) {
    const std::vector<int>& stages = ranks.front()->shape->stages;
    const bool areSame = std::all_of(ranks.begin(), ranks.end(), [&](const Rank* rank) {
      return rank->shape->stages == stages;
    });
    return areSame && !stages.empty() ? stagesText(stages) : key;
  }

  std::string nameOfPipeline(const RankShape& rank) const {
    return pipelineName(rank.replica, shape_.tensorRanks, hasReplicas_);
  }

  void addLevel(std::size_t at, const Ranks& ranks, std::size_t parent) {
    if (at == levels_.size()) {
      for (const Rank* rank : ranks) addRank(*rank, parent, false);
      return;
    }
    const Level& level = levels_[at];
    std::map<std::string, Ranks> entries;
    for (const Rank* rank : ranks) entries[level.order(*rank->shape)].push_back(rank);
    if (entries.size() == 1) return addLevel(at + 1, ranks, parent);
    for (const auto& [order, below] : entries) {
      const std::string name = level.name(*below.front()->shape);
      const std::string key =
          parent == RowNode::kNone ? name : tree_.nodes_[parent].key + "/" + name;
      const std::size_t node = addHeader(level.kind, key, name, parent, below);
      tree_.nodes_[node].startsFolded = !holdsSlowest(below);
      addLevel(at + 1, below, node);
    }
  }

  bool holdsSlowest(const Ranks& ranks) const {
    if (replicas_.size() < 2 || !shape_.slowestReplica) return true;
    return std::any_of(ranks.begin(), ranks.end(), [&](const Rank* rank) {
      return rank->shape->replica == *shape_.slowestReplica;
    });
  }

  std::size_t add(RowNode node) {
    const std::size_t index = tree_.nodes_.size();
    node.names += node.label;
    (node.parent == RowNode::kNone ? tree_.top_ : tree_.nodes_[node.parent].children)
        .push_back(index);
    tree_.byKey_.try_emplace(node.key, index);
    if (node.row != RowNode::kNone) tree_.nodeOfRow_[node.row] = index;
    tree_.isDeep_.push_back(node.row != RowNode::kNone && rows_[node.row].lanes.size() > 1);
    tree_.nodes_.push_back(std::move(node));
    return index;
  }

  std::size_t addHeader(RowKind kind, std::string key, std::string name, std::size_t parent,
                        const Ranks& ranks) {
    RowNode node;
    node.kind = kind;
    node.key = std::move(key);
    node.label = std::move(name);
    node.detail = countText(ranks.size(), "rank");
    node.isOneLine = true;
    node.parent = parent;
    node.loadOf = static_cast<int>(ranks.size());
    for (const Rank* rank : ranks) {
      for (const std::size_t row : rank->rows) {
        if (rows_[row].isCompute) node.loadRows.push_back(row);
      }
    }
    return add(std::move(node));
  }

  void addRank(const Rank& rank, std::size_t parent, bool isByStage) {
    const RankShape& shape = *rank.shape;
    RowNode node;
    node.kind = RowKind::kRank;
    node.key = node.label = "rank " + std::to_string(shape.rank);
    node.detail = stagesText(shape.stages);
    node.names = node.key + '\n';
    if (!rank.rows.empty()) node.names += rows_[rank.rows.front()].lane + '\n';
    for (const int stage : shape.stages) node.names += "stage " + std::to_string(stage) + '\n';
    const bool isShared = shape.turns > 1;
    const std::string turn = std::to_string(shape.turn + 1) + " of " + std::to_string(shape.turns);
    if (isShared) node.detail += ", " + turn;
    if (isByStage && replicas_.size() > 1) {
      node.detail = nameOfPipeline(shape) + (isShared ? ", " + turn : "");
    } else if (isByStage && parent == RowNode::kNone && !node.detail.empty()) {
      std::swap(node.label, node.detail);
    }
    node.parent = parent;
    if (!rank.rows.empty()) {
      node.row = rank.rows.front();
      node.detail = rankDetail(rows_[node.row], node.detail);
      node.isOneLine = !rows_[node.row].isCompute;
    }
    const std::size_t self = add(std::move(node));
    addLanes(rank, self);
    for (const std::size_t i : rank.counters) addCounter(i, self);
  }

  void addLanes(const Rank& rank, std::size_t parent) {
    std::vector<std::size_t> others;
    std::size_t otherLanes = 0;
    for (std::size_t i = 1; i < rank.rows.size(); ++i) {
      const std::size_t row = rank.rows[i];
      if (holdsWork(rows_[row])) {
        addLane(row, parent, isAside(rows_[row]) && rows_[row].lanes.size() >= kDeepLane);
      } else {
        others.push_back(row);
        otherLanes += rows_[row].lanes.size();
      }
    }
    if (others.size() > 1) {
      RowNode node;
      node.kind = RowKind::kOtherLanes;
      node.key = tree_.nodes_[parent].key + "//other lanes";
      node.label = std::to_string(others.size()) + " other lanes";
      node.parent = parent;
      node.startsFolded = true;
      node.loadRows = others;
      node.loadOf = static_cast<int>(otherLanes);
      parent = add(std::move(node));
    }
    for (const std::size_t row : others) addLane(row, parent, rows_[row].lanes.size() > 1);
  }

  void addLane(std::size_t row, std::size_t parent, bool startsFolded) {
    RowNode node;
    node.kind = RowKind::kLane;
    node.key = "rank " + std::to_string(rows_[row].rank) + "/" + rows_[row].lane;
    node.label = rows_[row].lane;
    node.parent = parent;
    node.row = row;
    node.startsFolded = startsFolded;
    node.loadRows = {row};
    node.loadOf = static_cast<int>(rows_[row].lanes.size());
    add(std::move(node));
  }

  void addCounter(std::size_t counter, std::size_t parent) {
    const CounterIndex& index = counters_[counter];
    RowNode node;
    node.kind = RowKind::kCounter;
    node.key = tree_.nodes_[parent].key + "//counter/" + index.name();
    node.label = index.name();
    if (const auto range = index.range()) {
      node.detail = counterText(range->least, index.unit()) + " to " +
                    counterText(range->greatest, index.unit());
    }
    node.parent = parent;
    node.counter = counter;
    add(std::move(node));
  }

  RowTree& tree_;
  const std::vector<ChartRow>& rows_;
  const std::vector<CounterIndex>& counters_;
  const RunShape& shape_;
  std::vector<Rank> ranks_;
  std::vector<Level> levels_;
  std::set<int> replicas_;
  bool hasReplicas_ = false;  // not only tensor-parallel peers
  std::map<int, std::set<std::string>> hostsOfReplica_;
};

RowTree::RowTree(const std::vector<ChartRow>& rows, const std::vector<CounterIndex>& counters,
                 const RunShape& shape, RowGrouping grouping) {
  RowTreeBuilder builder(*this, rows, counters, shape);
  switch (grouping) {
    case RowGrouping::kByRank: builder.buildByRank(); break;
    case RowGrouping::kByStage: builder.buildByStage(); break;
    default: builder.buildGroups(grouping);
  }
}

std::size_t RowTree::find(std::string_view key) const {
  const auto found = byKey_.find(std::string(key));
  return found == byKey_.end() ? RowNode::kNone : found->second;
}

bool RowTree::canFold(std::size_t node) const {
  const bool isDeepLane = nodes_[node].kind == RowKind::kLane && isDeep_[node];
  return isDeepLane || !nodes_[node].children.empty();
}

namespace {

/// The tracks of a timeline by rank: positions [first, last).
struct RankTracks {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::map<int, RankTracks> tracksByRank(const Timeline& timeline) {
  std::map<int, RankTracks> found;
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    const auto [at, isNew] = found.try_emplace(timeline.tracks[i].rank, RankTracks{i, i});
    at->second.last = i + 1;
  }
  for (const CounterSeries& counter : timeline.counters) found.try_emplace(counter.rank);
  return found;
}

/// The stages of a rank; adds up how long its compute jobs are.
std::vector<int> stagesOf(const Timeline& timeline, const RankTracks& tracks, double& work) {
  std::set<int> stages;
  for (std::size_t i = tracks.first; i < tracks.last; ++i) {
    std::int32_t latest = kNotGiven;
    for (const Event& event : timeline.tracks[i].events) {
      if (isCompute(event.kind)) work += static_cast<double>(event.duration());
      if (event.stage == latest || !isCompute(event.kind) || event.stage < 0) continue;
      latest = event.stage;
      stages.insert(latest);
    }
  }
  return {stages.begin(), stages.end()};
}

/// `work`: of each replica.
std::optional<int> slowestOf(const std::vector<StepWindow>& windows, std::map<int, double>& work) {
  std::map<int, double> sums;  // a double: many steps of days may not fit 64 bits
  Phase phase = Phase::kPredict;
  for (const StepWindow& window : windows) phase = std::min(phase, window.phase);
  for (const StepWindow& window : windows) {
    if (window.phase != phase) continue;
    sums[window.replica] += static_cast<double>(window.window());
  }
  const auto slowest = std::max_element(
      sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (slowest == sums.end()) return std::nullopt;
  constexpr double kTogether = 0.99;
  int most = slowest->first;
  for (const auto& [replica, sum] : sums) {
    if (sum >= kTogether * slowest->second && work[replica] > work[most]) most = replica;
  }
  return most;
}

}  // namespace

RunShape runShapeOf(const Timeline& timeline, const Topology& topology,
                    const std::vector<StepWindow>& windows) {
  RunShape shape;
  shape.tensorRanks = topology.tensorRanks;
  const std::map<int, RankTracks> tracks = tracksByRank(timeline);
  std::vector<RankTracks> ofRank;
  for (const auto& [rank, places] : tracks) {
    RankShape& added = shape.ranks.emplace_back();
    added.rank = rank;
    ofRank.push_back(places);
    const auto info = timeline.ranks.find(rank);
    if (info != timeline.ranks.end()) added.host = info->second.host;
    const auto place = topology.places.find(rank);
    if (place == topology.places.end()) continue;
    added.replica = place->second.replica;
    for (const std::vector<int>& ranks : topology.ranksOfStage) {
      const auto turn = std::find(ranks.begin(), ranks.end(), place->second.position);
      if (turn == ranks.end()) continue;
      added.turn = static_cast<int>(turn - ranks.begin());
      added.turns = static_cast<int>(ranks.size());
    }
  }
  std::vector<double> work(ofRank.size());
  inParallel(0, ofRank.size(), [&](std::size_t i) {
    shape.ranks[i].stages = stagesOf(timeline, ofRank[i], work[i]);
  });
  std::map<int, double> workOf;
  for (std::size_t i = 0; i < work.size(); ++i) {
    shape.ranks[i].work = work[i];
    workOf[shape.ranks[i].replica] += work[i];
  }
  shape.slowestReplica = slowestOf(windows, workOf);
  return shape;
}

std::string pipelineName(int pipeline, int tensorRanks, bool hasReplicas) {
  const std::string replica = "replica " + std::to_string(pipeline / std::max(tensorRanks, 1));
  if (tensorRanks <= 1) return replica;
  const std::string peer = "tensor rank " + std::to_string(pipeline % tensorRanks);
  return hasReplicas ? replica + ", " + peer : peer;
}

std::string stagesText(const std::vector<int>& stages) {
  if (stages.empty()) return {};
  if (stages.size() == 1) return "stage " + std::to_string(stages.front());
  if (stages.size() > 3) {
    return "stages " + std::to_string(stages.front()) + " … " + std::to_string(stages.back());
  }
  std::string text = "stages ";
  for (const int stage : stages) {
    if (stage != stages.front()) text += ", ";
    text += std::to_string(stage);
  }
  return text;
}

}  // namespace pipetrace
