#include "trace/topology.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "trace/text/ranks_text.h"
#include "trace/threads/in_parallel.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

std::vector<int> ranksWithCompute(const Timeline& timeline) {
  std::set<int> ranks;
  for (const Track& track : timeline.tracks) {
    if (std::any_of(track.events.begin(), track.events.end(),
                    [](const Event& e) { return isCompute(e.kind); })) {
      ranks.insert(track.rank);
    }
  }
  return {ranks.begin(), ranks.end()};
}

const RankInfo& infoOf(const Timeline& timeline, int rank) {
  static const RankInfo kNothing;
  const auto found = timeline.ranks.find(rank);
  return found == timeline.ranks.end() ? kNothing : found->second;
}

/// The topology of a rank, as far as its events show it.
struct Named {
  int chunks = 1;
  std::set<int> peers;  // the other ends of its transfers
};

Named namedBy(const Timeline& timeline, int rank) {
  Named named;
  int latest = kNotGiven;
  for (const Track& track : tracksOf(timeline, rank)) {
    for (const Event& event : track.events) {
      named.chunks = std::max(named.chunks, event.chunk + 1);
      if (!isTransfer(event.kind) || event.peer == latest) continue;
      latest = event.peer;
      named.peers.insert(latest);
    }
  }
  return named;
}

/// The ranks that messages connect, as sets that grow together.
class Groups {
 public:
  explicit Groups(const std::vector<int>& ranks) {
    for (const int rank : ranks) parent_[rank] = rank;
  }
  bool knows(int rank) const { return parent_.contains(rank); }
  int lowestOf(int rank) {
    while (parent_[rank] != rank) rank = parent_[rank] = parent_[parent_[rank]];
    return rank;
  }
  void join(int a, int b) {
    a = lowestOf(a);
    b = lowestOf(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::map<int, int> parent_;
};

/// The replica of each rank, inferred from messages. All pipelines must have the same number of
/// ranks. Where they have not, too little was logged, and all ranks count as one pipeline.
std::map<int, int> replicasByMessages(const std::vector<int>& ranks,
                                      const std::vector<Named>& named) {
  Groups groups(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const int peer : named[i].peers) {
      if (groups.knows(peer)) groups.join(ranks[i], peer);
    }
  }
  std::map<int, std::vector<int>> members;  // by the lowest rank of each
  for (const int rank : ranks) members[groups.lowestOf(rank)].push_back(rank);
  const bool plausible = std::all_of(members.begin(), members.end(), [&](const auto& group) {
    return group.second.size() > 1 && group.second.size() == members.begin()->second.size();
  });
  std::map<int, int> replicas;
  int replica = 0;
  for (const auto& [lowest, group] : members) {
    for (const int rank : group) replicas[rank] = plausible ? replica : 0;
    ++replica;
  }
  return replicas;
}

/// Stages and chunks of `Profiler Meta:`, where they make sense.
struct Shape {
  std::optional<int> stages;
  std::optional<int> chunks;

  explicit Shape(const RankInfo& info) {
    constexpr int kMost = 1'000'000;
    if (info.numChunks && *info.numChunks >= 1 && *info.numChunks <= kMost) chunks = info.numChunks;
    const bool divides = info.numStages && *info.numStages % chunks.value_or(1) == 0;
    if (divides && *info.numStages >= 1 && *info.numStages <= kMost) stages = info.numStages;
  }
};

std::size_t rankCount(const std::vector<std::vector<int>>& ranksOfStage) {
  std::size_t count = 0;
  for (const std::vector<int>& ranks : ranksOfStage) count += ranks.size();
  return count;
}

/// Whether `Profiler Meta:` names as many stages as ranks, all in one pipeline: one stage each.
bool hasRankPerStage(const RankInfo& info) {
  return info.numStages && info.numStages == info.worldSize &&
         info.dataParallelIndex.value_or(0) == 0;
}

/// Whether the logs alone give every rank's replica: they name it, or there is only one pipeline.
bool replicasAreGiven(const Timeline& timeline, const std::vector<int>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    const RankInfo& info = infoOf(timeline, rank);
    if (info.dataParallelIndex) return true;
    const Shape shape(info);
    return shape.stages && info.worldSize == *shape.stages / shape.chunks.value_or(1);
  });
}

/// The number of tensor-parallel ranks, where each rank names its own; else 1.
int tensorRanksIn(const Timeline& timeline, const std::vector<int>& ranks) {
  constexpr int kMost = 1'000;  // times the next one fits an int
  constexpr int kMostReplicas = 1'000'000;
  int highest = 0;
  for (const int rank : ranks) {
    const RankInfo& info = infoOf(timeline, rank);
    const int index = info.tensorParallelIndex.value_or(-1);
    const int replica = info.dataParallelIndex.value_or(0);
    const bool isPlausible = index < kMost && replica >= 0 && replica < kMostReplicas;
    if (index < 0 || !isPlausible) return 1;
    highest = std::max(highest, index);
  }
  return highest + 1;
}

/// Numbers inferred pipelines as Topology does. Returns false where one of them holds several
/// tensor-parallel indices.
bool separateTensorRanks(const Timeline& timeline, int tensorRanks, std::map<int, int>& replicas) {
  std::map<int, int> indexOf;  // by pipeline
  for (const auto& [rank, replica] : replicas) {
    const int index = *infoOf(timeline, rank).tensorParallelIndex;
    if (indexOf.try_emplace(replica, index).first->second != index) return false;
  }
  std::map<int, int> next;  // by tensor-parallel index
  std::map<int, int> numbers;
  for (const auto& [replica, index] : indexOf) {
    numbers[replica] = next[index]++ * tensorRanks + index;
  }
  for (auto& [rank, replica] : replicas) replica = numbers.at(replica);
  return true;
}

/// Places a rank among those of its pipeline that it names. Returns false where it names none.
bool placeAsStated(const RankInfo& info, int rank, Topology::Place& place) {
  const std::vector<int> ranks = statedPipeline(info);
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  if (found == ranks.end()) return false;
  place.depth = static_cast<int>(ranks.size());
  place.position = static_cast<int>(found - ranks.begin());
  return true;
}

/// The stages that the compute jobs of a rank name.
std::set<int> stagesOn(const Timeline& timeline, int rank) {
  std::set<int> stages;
  for (const Track& track : tracksOf(timeline, rank)) {
    for (const Event& event : track.events) {
      if (isCompute(event.kind) && event.stage >= 0) stages.insert(event.stage);
    }
  }
  return stages;
}

/// Whether nothing tells the position of a rank: its jobs were found, and name no stages, and ranks
/// of its run have no file.
bool lackNeighbours(const Timeline& timeline, int rank) {
  const RankInfo& info = infoOf(timeline, rank);
  const auto world = static_cast<std::size_t>(std::max(info.worldSize.value_or(0), 0));
  if (info.jobsFound == 0 || info.numStages || world <= timeline.ranks.size()) return false;
  if (!stagesOn(timeline, rank).empty()) return false;
  std::set<int> peers = namedBy(timeline, rank).peers;
  peers.erase(kNotGiven);
  return peers.empty() || std::any_of(peers.begin(), peers.end(),
                                      [&](int peer) { return !timeline.ranks.contains(peer); });
}

/// Whether the stages are those of that position, in loops or in a V.
bool areOfPosition(const std::set<int>& stages, int position, int depth) {
  return std::all_of(stages.begin(), stages.end(), [&](int stage) {
    const int inWave = stage % (2 * depth);
    return stage % depth == position || inWave == position || inWave == 2 * depth - 1 - position;
  });
}

/// Places the ranks of a pipeline that lacks some by their lowest stages, if all of them can be.
void placeByStages(const Timeline& timeline, const std::vector<int>& members, Topology& topology) {
  std::map<int, int> rankAt;  // by position
  for (const int rank : members) {
    const std::set<int> stages = stagesOn(timeline, rank);
    const int depth = topology.places[rank].depth;
    if (stages.empty() || *stages.begin() >= depth) return;
    if (!areOfPosition(stages, *stages.begin(), depth)) return;
    if (!rankAt.try_emplace(*stages.begin(), rank).second) return;
  }
  for (const auto& [position, rank] : rankAt) topology.places[rank].position = position;
}

}  // namespace

std::map<int, std::vector<int>> Topology::replicas() const {
  std::map<int, std::vector<int>> result;
  for (const auto& [rank, place] : places) result[place.replica].push_back(rank);
  return result;
}

std::vector<std::vector<int>> statedStageRanks(const Timeline& timeline) {
  std::string_view text;
  for (const auto& [rank, info] : timeline.ranks) {
    if (info.ranksOfStage.empty() || (!text.empty() && text != info.ranksOfStage)) return {};
    text = info.ranksOfStage;
  }
  std::vector<std::vector<int>> ranksOfStage = ranksOfStageFrom(text);
  const std::size_t ranks = rankCount(ranksOfStage);
  std::vector<bool> isNamed(ranks, false);
  for (const std::vector<int>& ofStage : ranksOfStage) {
    for (const int rank : ofStage) {
      if (static_cast<std::size_t>(rank) >= ranks || isNamed[static_cast<std::size_t>(rank)]) {
        return {};
      }
      isNamed[static_cast<std::size_t>(rank)] = true;
    }
  }
  return ranksOfStage;
}

std::vector<int> statedPipeline(const RankInfo& info) {
  std::vector<int> ranks;
  for (const std::vector<int>& position : ranksOfStageFrom(info.pipelineRanks)) {
    if (position.size() != 1) return {};
    ranks.push_back(position.front());
  }
  return ranks;
}

Topology topologyOf(const Timeline& timeline, int threads) {
  Topology topology;
  const std::vector<int> ranks = ranksWithCompute(timeline);
  const bool given = replicasAreGiven(timeline, ranks);
  // The only rank of a run makes up its only pipeline.
  const bool isAlone = ranks.size() == 1 && infoOf(timeline, ranks.front()).worldSize == 1;
  topology.inferred = !given && !isAlone;
  std::vector<Named> named(ranks.size());
  inParallel(threads, ranks.size(), [&](std::size_t i) {
    const bool isNeeded = !given || !Shape(infoOf(timeline, ranks[i])).chunks;
    if (isNeeded) named[i] = namedBy(timeline, ranks[i]);
  });
  topology.tensorRanks = tensorRanksIn(timeline, ranks);
  const int tensorRanks = topology.tensorRanks;
  auto byMessages = given ? std::map<int, int>() : replicasByMessages(ranks, named);
  if (tensorRanks > 1 && !separateTensorRanks(timeline, tensorRanks, byMessages)) {
    topology.tensorRanks = 1;
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Topology::Place& place = topology.places[ranks[i]];
    const RankInfo& info = infoOf(timeline, ranks[i]);
    const int index = tensorRanks > 1 ? *info.tensorParallelIndex : 0;
    place.replica =
        given ? info.dataParallelIndex.value_or(0) * tensorRanks + index : byMessages.at(ranks[i]);
    const Shape shape(info);
    place.chunks = shape.chunks ? *shape.chunks : named[i].chunks;
    const bool chunksAreGiven = shape.chunks || (place.chunks == 1 && hasRankPerStage(info));
    topology.inferred = topology.inferred || (!isAlone && (!chunksAreGiven || !shape.stages));
  }
  // Groups of ranks name whole pipelines.
  const bool areStated = !ranks.empty() && std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    return !statedPipeline(infoOf(timeline, rank)).empty();
  });
  topology.inferred = topology.inferred && !areStated;
  topology.ranksOfStage = statedStageRanks(timeline);
  const int sharing = static_cast<int>(rankCount(topology.ranksOfStage));
  for (const auto& [replica, members] : topology.replicas()) {
    const bool areUnknown = std::any_of(members.begin(), members.end(),
                                        [&](int rank) { return lackNeighbours(timeline, rank); });
    for (std::size_t i = 0; i < members.size(); ++i) {
      Topology::Place& place = topology.places[members[i]];
      const RankInfo& info = infoOf(timeline, members[i]);
      const int present = static_cast<int>(members.size());
      const Shape shape(info);
      place.depth = shape.stages ? std::max(1, *shape.stages / place.chunks) : present;
      if (sharing > 0) place.depth = sharing;
      if (placeAsStated(info, members[i], place)) continue;
      if (areUnknown) continue;
      if (place.depth == present) {
        place.position = static_cast<int>(i);
      } else if (info.worldSize == place.depth) {
        place.position = members[i];  // some logs are missing, but there is one pipeline only
      } else if (sharing > 0) {
        place.position = members[i] % sharing;  // plans number the ranks of a replica in a row
      }
    }
    const bool isPlaced = std::all_of(members.begin(), members.end(), [&](int rank) {
      return topology.places[rank].position >= 0;
    });
    if (!isPlaced) placeByStages(timeline, members, topology);
  }
  return topology;
}

}  // namespace pipetrace
