#include "chart/rows/run_shape.h"

#include <algorithm>
#include <map>
#include <set>

#include "trace/threads/in_parallel.h"
#include "trace/topology.h"

namespace pipetrace {
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

std::vector<int> stagesOf(const Timeline& timeline, const RankTracks& tracks) {
  std::set<int> stages;
  for (std::size_t i = tracks.first; i < tracks.last; ++i) {
    std::int32_t latest = kNotGiven;
    for (const Event& event : timeline.tracks[i].events) {
      if (event.stage == latest || !isCompute(event.kind) || event.stage < 0) continue;
      latest = event.stage;
      stages.insert(latest);
    }
  }
  return {stages.begin(), stages.end()};
}

std::optional<int> slowestOf(const std::vector<StepWindow>& windows) {
  std::map<int, double> sums;  // a double: many steps of days may not fit 64 bits
  for (const StepWindow& window : windows) {
    sums[window.replica] += static_cast<double>(window.window());
  }
  const auto slowest = std::max_element(
      sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (slowest == sums.end()) return std::nullopt;
  return slowest->first;
}

}  // namespace

RunShape runShapeOf(const Timeline& timeline, const std::vector<StepWindow>& windows) {
  RunShape shape;
  const Topology topology = topologyOf(timeline, 0);
  shape.tensorRanks = topology.tensorRanks;
  shape.slowestReplica = slowestOf(windows);
  const std::map<int, RankTracks> tracks = tracksByRank(timeline);
  std::vector<RankTracks> ofRank;
  for (const auto& [rank, places] : tracks) {
    RankShape& added = shape.ranks.emplace_back();
    added.rank = rank;
    ofRank.push_back(places);
    const auto info = timeline.ranks.find(rank);
    if (info != timeline.ranks.end()) added.host = info->second.host;
    const auto place = topology.places.find(rank);
    if (place != topology.places.end()) added.replica = place->second.replica;
  }
  inParallel(0, ofRank.size(),
             [&](std::size_t i) { shape.ranks[i].stages = stagesOf(timeline, ofRank[i]); });
  return shape;
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
