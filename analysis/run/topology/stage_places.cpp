#include "analysis/run/topology/stage_places.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

/// What the events of a rank say of its place.
struct RankFacts {
  std::set<std::int32_t> stages;
  std::set<std::int32_t> microBatches;  // of forwards and backwards of its lowest stage
  std::set<std::int32_t> peers;
  std::int32_t highest = kNotGiven;  // the highest stage that its jobs and messages show
};

/// How ranks are counted.
struct Layout {
  bool replicasFirst = true;
  int positions = 1;
  int replicas = 1;

  int replicaOf(int rank) const { return replicasFirst ? rank % replicas : rank / positions; }
  int positionOf(int rank) const { return replicasFirst ? rank / replicas : rank % positions; }
  int rankAt(int replica, int position) const {
    return replicasFirst ? position * replicas + replica : replica * positions + position;
  }
};

class PlacesByStages {
 public:
  PlacesByStages(Timeline& timeline, Diagnostics& diagnostics)
      : timeline_(timeline), diagnostics_(diagnostics) {}

  void place() {
    if (!readFacts() || topologyOf(timeline_).replicas().size() > 1) return;
    const auto replicas = mostOnAStage();
    const auto positions = replicas ? positionCount() : std::nullopt;
    if (!positions || (*replicas == 1 && !lackPositions(*positions))) return;
    const auto layout = layoutOf(*positions, *replicas);
    if (layout) give(*layout);
  }

 private:
  /// Returns whether all ranks with compute jobs name their stages, and nothing says their places.
  bool readFacts() {
    for (const Track& track : timeline_.tracks) {
      const auto computes = [](const Event& event) { return isCompute(event.kind); };
      if (std::none_of(track.events.begin(), track.events.end(), computes)) continue;
      const RankInfo& info = timeline_.ranks.at(track.rank);
      if (info.dataParallelIndex || info.numStages || !info.ranksOfStage.empty()) return false;
    }
    for (const Track& track : timeline_.tracks) {
      std::int32_t last = kNotGiven;
      for (const Event& event : track.events) {
        if (!isCompute(event.kind)) continue;
        if (event.stage == kNotGiven) return false;
        if (event.stage == last) continue;
        last = event.stage;
        RankFacts& facts = facts_[track.rank];
        facts.stages.insert(event.stage);
        facts.highest = std::max(facts.highest, event.stage);
      }
    }
    for (const Track& track : timeline_.tracks) {
      const auto found = facts_.find(track.rank);
      if (found == facts_.end()) continue;
      RankFacts& facts = found->second;
      for (const Event& event : track.events) {
        if (isTransfer(event.kind)) {
          if (event.peer != kNotGiven) facts.peers.insert(event.peer);
          const bool isOfNext = isSend(event.kind) == isForwardTransfer(event.kind);
          if (event.stage != kNotGiven && isOfNext) {
            facts.highest = std::max(facts.highest, event.stage + 1);
          }
        } else if (isCompute(event.kind) && event.stage == *facts.stages.begin()) {
          facts.microBatches.insert(event.microBatch);
        }
      }
    }
    return !facts_.empty();
  }

  /// How many ranks run the same jobs. Nothing where ranks have neither the same stages nor none in
  /// common, and where they share the micro-batches of a stage.
  std::optional<int> mostOnAStage() {
    std::map<std::int32_t, std::pair<int, int>> ranks;  // by stage: the first, and how many
    int most = 1;
    for (const auto& [rank, facts] : facts_) {
      for (const std::int32_t stage : facts.stages) {
        auto& [first, count] = ranks.try_emplace(stage, rank, 0).first->second;
        most = std::max(most, ++count);
        if (first == rank) continue;
        const RankFacts& other = facts_.at(first);
        if (other.stages != facts.stages || !runSameJobs(facts, other)) return std::nullopt;
      }
    }
    return most;
  }

  bool lackPositions(int positions) const {
    std::set<int> there;
    for (const auto& [rank, facts] : facts_) there.insert(positionOf(facts));
    return std::ssize(there) < positions;
  }

  /// One recording may be shorter than the other.
  static bool runSameJobs(const RankFacts& a, const RankFacts& b) {
    std::vector<std::int32_t> both;
    std::set_intersection(a.microBatches.begin(), a.microBatches.end(), b.microBatches.begin(),
                          b.microBatches.end(), std::back_inserter(both));
    return 2 * both.size() >= std::min(a.microBatches.size(), b.microBatches.size());
  }

  static int positionOf(const RankFacts& facts) { return *facts.stages.begin(); }

  /// The number of ranks of a pipeline: each has one stage, or several in loops or in a V.
  std::optional<int> positionCount() const {
    constexpr int kMost = 32'768;
    int lowest = 0;  // the highest of the lowest stages
    int highest = 0;
    std::set<int> loops;  // what it would be
    std::set<int> waves;
    for (const auto& [rank, facts] : facts_) {
      lowest = std::max(lowest, positionOf(facts));
      highest = std::max(highest, int{facts.highest});
      if (facts.stages.size() < 2) continue;
      const int second = *std::next(facts.stages.begin());
      loops.insert(second - positionOf(facts));
      waves.insert((second + positionOf(facts) + 1) / 2);
    }
    int count = loops.empty() ? highest + 1 : lowest + 1;
    if (loops.size() == 1) {
      count = *loops.begin();
    } else if (waves.size() == 1) {
      count = *waves.begin();
    }
    if (count < 2 || count > kMost || lowest >= count) return std::nullopt;
    return count;
  }

  bool fits(const Layout& layout) const {
    return std::all_of(facts_.begin(), facts_.end(), [&](const auto& each) {
      const auto& [rank, facts] = each;
      const int replica = layout.replicaOf(rank);
      return layout.positionOf(rank) == positionOf(facts) && replica < layout.replicas &&
             std::all_of(facts.peers.begin(), facts.peers.end(),
                         [&](std::int32_t peer) { return layout.replicaOf(peer) == replica; });
    });
  }

  /// `replicas`: at least so many, but for one, which is all.
  std::optional<Layout> layoutOf(int positions, int replicas) const {
    const int last = facts_.rbegin()->first;
    const int present = static_cast<int>(facts_.size());
    std::optional<int> world;
    for (const auto& [rank, facts] : facts_) {
      if (timeline_.ranks.at(rank).worldSize) world = timeline_.ranks.at(rank).worldSize;
    }
    const auto isOfWorld = [&](const Layout& layout) {
      return !world || *world == layout.positions * layout.replicas;
    };
    const int most = replicas == 1 ? 1 : 2 * present;
    for (int count = replicas; count <= most; ++count) {
      const Layout layout{true, positions, count};
      const bool areMost = replicas == 1 || 2 * present >= positions * count;
      if (areMost && isOfWorld(layout) && fits(layout)) return layout;
    }
    if (replicas == 1) return std::nullopt;
    // A file of a rank that is there twice under another number looks like a part of a replica.
    const Layout layout{false, positions, last / positions + 1};
    const bool areAll = present == positions * layout.replicas;
    return areAll && isOfWorld(layout) && fits(layout) ? std::optional(layout) : std::nullopt;
  }

  void give(const Layout& layout) {
    std::size_t chunks = 1;
    for (const auto& [rank, facts] : facts_) chunks = std::max(chunks, facts.stages.size());
    std::set<int> replicas;
    for (const auto& [rank, facts] : facts_) {
      RankInfo& info = timeline_.ranks.at(rank);
      info.dataParallelIndex = layout.replicaOf(rank);
      replicas.insert(layout.replicaOf(rank));
      info.pipelineRanks = pipetrace::toText(ranksOf(layout.replicaOf(rank), layout));
      info.numChunks = static_cast<int>(chunks);
      info.numStages = layout.positions * static_cast<int>(chunks);
    }
    std::vector<int> first;
    for (const auto& rank : ranksOf(*replicas.begin(), layout)) first.push_back(rank.front());
    const std::string why = layout.replicas > 1
                                ? "as several ranks run the same jobs: they are replicas"
                                : "as jobs and messages name stages of ranks that have no file";
    diagnostics_.add(
        {.severity = Severity::kNote,
         .message = "inferred, as the logs do not say it: " +
                    countText(replicas.size(), "pipeline of ", "pipelines, the first of ") +
                    ranksText(first) + " in this order, " + why,
         .advice = "--pp, --dp and --tp say it if ranks are arranged in another way"});
  }

  static std::vector<std::vector<int>> ranksOf(int replica, const Layout& layout) {
    std::vector<std::vector<int>> ranks;
    for (int position = 0; position < layout.positions; ++position) {
      ranks.push_back({layout.rankAt(replica, position)});
    }
    return ranks;
  }

  Timeline& timeline_;
  Diagnostics& diagnostics_;
  std::map<int, RankFacts> facts_;  // of ranks with compute jobs
};

}  // namespace

void placeByStages(Timeline& timeline, Diagnostics& diagnostics) {
  PlacesByStages(timeline, diagnostics).place();
}

}  // namespace pipetrace
