#include "chart/rows/run_shape.h"

#include <algorithm>
#include <map>
#include <set>

#include "trace/threads/in_parallel.h"

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
  for (std::size_t i = 0; i < work.size(); ++i) workOf[shape.ranks[i].replica] += work[i];
  shape.slowestReplica = slowestOf(windows, workOf);
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
