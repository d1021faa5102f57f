#include "analysis/run/topology/group_places.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/text/ranks_text.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using Ranks = std::vector<int>;

/// Sets of ranks that grow together.
class RankSets {
 public:
  void join(const Ranks& ranks) {
    for (const int rank : ranks) {
      const int a = lowestOf(ranks.front());
      const int b = lowestOf(rank);
      parent_[std::max(a, b)] = std::min(a, b);
    }
  }
  /// The lowest rank of the set.
  int lowestOf(int rank) {
    parent_.try_emplace(rank, rank);
    while (parent_[rank] != rank) rank = parent_[rank] = parent_[parent_[rank]];
    return rank;
  }
  std::map<int, Ranks> all() {
    std::map<int, Ranks> sets;
    Ranks ranks;
    for (const auto& [rank, parent] : parent_) ranks.push_back(rank);
    for (const int rank : ranks) sets[lowestOf(rank)].push_back(rank);
    return sets;
  }

 private:
  std::map<int, int> parent_;
};

/// The ranks whose jobs name stages or chunks, and the number of chunks that these make.
std::optional<int> chunksIn(const Timeline& timeline, int depth) {
  int chunks = 0;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCompute(event.kind)) continue;
      if (event.stage != kNotGiven) chunks = std::max(chunks, event.stage / depth + 1);
      if (event.chunk != kNotGiven) chunks = std::max(chunks, event.chunk + 1);
    }
  }
  return chunks > 0 ? std::optional(chunks) : std::nullopt;
}

bool isPeerAxis(GroupAxis axis) {
  return axis == GroupAxis::kTensor || axis == GroupAxis::kContext;
}

class GroupPlaces {
 public:
  GroupPlaces(Timeline& timeline, Diagnostics& diagnostics)
      : timeline_(timeline), diagnostics_(diagnostics) {
    for (const Track& track : timeline.tracks) {
      const bool computes = std::any_of(track.events.begin(), track.events.end(),
                                        [](const Event& event) { return isCompute(event.kind); });
      if (computes) ranks_.insert(track.rank);
    }
  }

  void place() {
    const bool areGrouped =
        !ranks_.empty() && std::all_of(ranks_.begin(), ranks_.end(), [&](int rank) {
          const RankInfo& info = infoOf(rank);
          return !info.groups.empty() && !info.dataParallelIndex && info.ranksOfStage.empty();
        });
    if (!areGrouped || !findPipelines()) return;
    if (!findPeers() || !number()) return;
    give();
  }

 private:
  const RankInfo& infoOf(int rank) const { return timeline_.ranks.at(rank); }

  bool contradict(const std::string& what) {
    diagnostics_.add({.message = "groups of ranks contradict each other, and are not used: " + what,
                      .advice = "--pp, --dp and --tp say how ranks are arranged",
                      .doubt = DoubtKind::kRanksContradict});
    return false;
  }

  /// The pipeline of each rank, where groups for pipelines name it; false where they contradict.
  bool findPipelines() {
    for (const int rank : ranks_) {
      for (const CommunicationGroup& group : infoOf(rank).groups) {
        if (group.axis != GroupAxis::kPipeline) continue;
        for (const int member : group.ranks) {
          const auto [other, isNew] = pipelines_.try_emplace(member, group.ranks);
          if (isNew || other->second == group.ranks) continue;
          return contradict("rank " + std::to_string(member) + " is in a pipeline of " +
                            ranksText(other->second) + ", and in one of " + ranksText(group.ranks));
        }
      }
    }
    const auto isKnown = [&](int rank) { return pipelines_.contains(rank); };
    if (std::all_of(ranks_.begin(), ranks_.end(), isKnown)) return true;
    pipelines_.clear();
    if (areRanksMissing() && findPipelinesInGroups()) return true;
    return findPipelinesByMessages() || findPipelinesOfOneRank();
  }

  std::size_t worldSize() const {
    int size = 0;
    for (const int rank : ranks_) size = std::max(size, infoOf(rank).worldSize.value_or(0));
    return static_cast<std::size_t>(size);
  }

  bool areRanksMissing() const { return worldSize() > timeline_.ranks.size(); }

  /// Where ranks have no file, messages do not connect all of a pipeline. It is the smallest group
  /// without a purpose that holds a rank and those that it sends to. Where nobody names these, it
  /// is the only group that the rank is in. A group of all ranks is one only of ranks that are in
  /// no other: replicas and ranks that share a stage have groups of their own.
  bool findPipelinesInGroups() {
    std::map<int, std::set<int>> peers;  // of ranks that send or receive
    for (const Track& track : timeline_.tracks) {
      if (track.lane != kSendLane && track.lane != kRecvLane) continue;
      for (const Event& event : track.events) {
        std::set<int>& of = peers[track.rank];
        if (event.peer != kNotGiven) of.insert(event.peer);
      }
    }
    for (const int rank : ranks_) {
      const auto own = peers.find(rank);
      const Ranks group = own == peers.end() ? Ranks() : pipelineAmongGroups(rank, own->second);
      for (const int member : group) {
        const auto [other, isNew] = pipelines_.try_emplace(member, group);
        if (isNew || other->second == group) continue;
        pipelines_.clear();
        return false;
      }
      if (pipelines_.contains(rank)) continue;
      pipelines_.clear();
      return false;
    }
    return true;
  }

  /// Empty where none may be it.
  Ranks pipelineAmongGroups(int rank, const std::set<int>& peers) const {
    Ranks smallest;
    std::size_t parts = 0;  // groups of several ranks, but not of all
    std::size_t all = 0;
    for (const CommunicationGroup& group : infoOf(rank).groups) {
      if (group.ranks.size() < 2) continue;
      ++(group.ranks.size() < worldSize() ? parts : all);
      const auto isIn = [&](int each) {
        return std::find(group.ranks.begin(), group.ranks.end(), each) != group.ranks.end();
      };
      const bool holdsAll = isIn(rank) && std::all_of(peers.begin(), peers.end(), isIn);
      if (group.axis != GroupAxis::kUnknown || !holdsAll) continue;
      if (smallest.empty() || group.ranks.size() < smallest.size()) smallest = group.ranks;
    }
    const bool isOfAll = smallest.size() == worldSize();
    const bool isOnly = parts + std::min<std::size_t>(all, 1) == 1;
    if (isOfAll ? parts > 0 : peers.empty() && !isOnly) return {};
    return smallest;
  }

  bool findPipelinesByMessages() {
    const auto replicas = topologyOf(timeline_).replicas();
    if (replicas.size() < 2) return false;  // one pipeline needs no index
    for (const auto& [number, members] : replicas) {
      for (const int rank : members) pipelines_[rank] = members;
    }
    areByMessages_ = true;
    return true;
  }

  bool findPipelinesOfOneRank() {
    RankSets sets;
    std::size_t most = 0;
    for (const int rank : ranks_) {
      for (const CommunicationGroup& group : infoOf(rank).groups) {
        most = std::max(most, group.ranks.size());
        const bool isUsed = group.axis == GroupAxis::kUnknown && group.reduces;
        if (isUsed || isPeerAxis(group.axis) || group.axis == GroupAxis::kData) {
          sets.join(group.ranks);
        }
      }
      most = std::max(most, static_cast<std::size_t>(infoOf(rank).worldSize.value_or(0)));
    }
    for (const Track& track : timeline_.tracks) {
      for (const Event& event : track.events) {
        if (isTransfer(event.kind) || (isCompute(event.kind) && event.stage > 0)) return false;
      }
    }
    const auto all = sets.all();
    if (all.size() != 1 || all.begin()->second.size() < std::max<std::size_t>(most, 2))
      return false;
    for (const int rank : all.begin()->second) pipelines_[rank] = {rank};
    return true;
  }

  /// Whether collectives of the group add up inside the forwards of all of its ranks that are here.
  bool isUsedInForwards(const CommunicationGroup& group) const {
    return std::all_of(group.ranks.begin(), group.ranks.end(), [&](int rank) {
      if (!ranks_.contains(rank)) return true;
      const auto& groups = infoOf(rank).groups;
      return std::any_of(groups.begin(), groups.end(), [&](const CommunicationGroup& each) {
        return each.ranks == group.ranks && each.reducesInForwards;
      });
    });
  }

  bool findPeers() {
    for (const int rank : ranks_) {
      for (const CommunicationGroup& group : infoOf(rank).groups) {
        const bool isUsed =
            group.axis == GroupAxis::kUnknown && group.reducesInForwards && isUsedInForwards(group);
        if (group.ranks.size() < 2 || (!isUsed && !isPeerAxis(group.axis))) continue;
        std::set<Ranks> pipelines;
        for (const int member : group.ranks) {
          const auto pipeline = pipelines_.find(member);
          if (pipeline == pipelines_.end() || pipelines.insert(pipeline->second).second) continue;
          if (isUsed) return false;  // nobody has named it: no doubt, but nothing is known
          return contradict(ranksText(group.ranks) +
                            " share a stage, and two of them are in the pipeline of " +
                            ranksText(pipeline->second));
        }
        peers_.join(group.ranks);
      }
    }
    return true;
  }

  /// Gives each pipeline its number among those that share its stages.
  bool number() {
    RankSets replicas;
    for (const auto& [rank, pipeline] : pipelines_) replicas.join(pipeline);
    for (auto& [lowest, peers] : peers_.all()) {
      for (std::size_t i = 0; i < peers.size(); ++i)
        indexAmongPeers_[peers[i]] = static_cast<int>(i);
      replicas.join(peers);
    }
    std::set<int> lowest;
    for (const int rank : ranks_) lowest.insert(replicas.lowestOf(rank));
    for (const int rank : ranks_) {
      const auto replica = lowest.find(replicas.lowestOf(rank));
      replicas_[rank] = static_cast<int>(std::distance(lowest.begin(), replica));
      for (const int other : pipelines_.at(rank)) {
        if (indexOf(other) == indexOf(rank)) continue;
        if (!indexAmongPeers_.contains(other) && !ranks_.contains(other)) continue;
        if (areByMessages_) return false;
        return contradict("rank " + std::to_string(rank) + " is number " +
                          std::to_string(indexOf(rank)) +
                          " among those that share its stage, and rank " + std::to_string(other) +
                          " of the same pipeline is number " + std::to_string(indexOf(other)));
      }
    }
    return true;
  }

  int indexOf(int rank) const {
    const auto found = indexAmongPeers_.find(rank);
    return found == indexAmongPeers_.end() ? 0 : found->second;
  }

  void give() {
    constexpr int kMostStages = 1'000'000;
    const bool sharesStages = !indexAmongPeers_.empty();
    if (areByMessages_ && !sharesStages) return;  // nothing that messages do not say
    std::size_t depth = 0;
    for (const auto& [rank, pipeline] : pipelines_) depth = std::max(depth, pipeline.size());
    const auto chunks = chunksIn(timeline_, static_cast<int>(depth));
    for (const int rank : ranks_) {
      RankInfo& info = timeline_.ranks.at(rank);
      std::vector<Ranks> places;
      for (const int member : pipelines_.at(rank)) places.push_back({member});
      info.pipelineRanks = toText(places);
      info.dataParallelIndex = replicas_.at(rank);
      if (sharesStages) info.tensorParallelIndex = indexOf(rank);
      if (!chunks || info.numStages || info.numChunks) continue;
      const std::int64_t stages = std::int64_t{*chunks} * std::ssize(places);
      if (stages > kMostStages) continue;
      info.numChunks = chunks;
      info.numStages = static_cast<int>(stages);
    }
  }

  Timeline& timeline_;
  Diagnostics& diagnostics_;
  std::set<int> ranks_;             // with a compute job
  std::map<int, Ranks> pipelines_;  // the pipeline of each rank, of those without a file as well
  bool areByMessages_ = false;
  RankSets peers_;
  std::map<int, int> indexAmongPeers_;
  std::map<int, int> replicas_;  // the data-parallel index of each rank
};

}  // namespace

void placeByGroups(Timeline& timeline, Diagnostics& diagnostics) {
  GroupPlaces(timeline, diagnostics).place();
}

}  // namespace pipetrace
