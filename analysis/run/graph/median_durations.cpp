#include "analysis/run/graph/median_durations.h"

#include <cmath>
#include <map>
#include <utility>

#include "analysis/median.h"
#include "analysis/ratio.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;
/// A kind of jobs: whole ones (kNotGiven), or a part of them.
using PartKind = std::pair<JobKind, std::int16_t>;
using StageKind = std::pair<std::int32_t, PartKind>;

/// The jobs of one stage and kind on a rank.
struct JobsOfStage {
  StageKind key;
  std::vector<Id> jobs;
  Nanoseconds median = 0;
};

std::vector<JobsOfStage> jobsOfRank(const JobGraph& graph, const JobGraph::Rank& rank,
                                    const CountedSteps& counted, MedianDurations::Of of) {
  constexpr std::size_t kFew = 16;  // most ranks have no more stages and kinds
  std::vector<JobsOfStage> found;
  std::map<StageKind, std::size_t> places;
  for (Id id = rank.first; id < rank.end; ++id) {
    const JobGraph::Node& job = graph.node(id);
    if (!isCompute(job.kind) || !counted.contains(job.step)) continue;
    const StageKind key{job.stage, {job.kind, job.event->part}};
    std::size_t place = 0;
    while (place < found.size() && place < kFew && found[place].key != key) ++place;
    if (place == kFew) place = places.try_emplace(key, found.size()).first->second;
    if (place == found.size()) found.push_back({.key = key});
    found[place].jobs.push_back(id);
  }
  std::vector<Nanoseconds> durations;
  for (JobsOfStage& each : found) {
    durations.clear();
    for (const Id id : each.jobs) {
      durations.push_back(of == MedianDurations::Of::kJobs       ? graph.lengthOf(id)
                          : of == MedianDurations::Of::kOwnTimes ? graph.ownTimeOf(id)
                                                                 : graph.kernelTimeOf(id));
    }
    each.median = medianOf(durations);
  }
  return found;
}

}  // namespace

MedianDurations::MedianDurations(const JobGraph& graph, int threads, const CountedSteps& counted,
                                 Of of)
    : graph_(graph), group_(graph.jobCount()), medians_(1) {
  std::vector<std::vector<JobsOfStage>> ranks(graph.ranks().size());
  inParallel(threads, ranks.size(),
             [&](std::size_t r) { ranks[r] = jobsOfRank(graph, graph.ranks()[r], counted, of); });
  std::map<StageKind, std::vector<Nanoseconds>> ofRanks;
  for (const auto& ofRank : ranks) {
    for (const JobsOfStage& each : ofRank) ofRanks[each.key].push_back(each.median);
  }
  std::map<StageKind, std::uint32_t> groups;
  std::map<PartKind, std::vector<Nanoseconds>> ofKinds;
  for (auto& [key, medians] : ofRanks) {
    groups[key] = static_cast<std::uint32_t>(medians_.size());
    medians_.push_back(lowerMedianOf(medians));
    ofKinds[key.second].push_back(medians_.back() / graph.turnsOf(key.first));
  }
  inParallel(threads, ranks.size(), [&](std::size_t r) {
    for (const JobsOfStage& each : ranks[r]) {
      const std::uint32_t group = groups.at(each.key);
      for (const Id job : each.jobs) group_[job] = group;
    }
  });
  std::map<PartKind, Nanoseconds> usual;
  for (auto& [kind, medians] : ofKinds) {
    usual[kind] = medianOf(medians);
    if (kind.second == kNotGiven) {
      ofKind_[static_cast<std::size_t>(kind.first)] = usual[kind];
    } else {
      ofParts_[kind] = usual[kind];
    }
  }
  imbalances_.resize(medians_.size());
  for (const auto& [key, group] : groups) {
    imbalances_[group] = medians_[group] - usual.at(key.second) * graph.turnsOf(key.first);
  }
}

std::vector<double> variationByRank(const JobGraph& graph, const MedianDurations& times,
                                    const CountedSteps& counted) {
  std::vector<double> variation;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    double off = 0;
    double usual = 0;
    for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isCompute(job.kind) || !counted.contains(job.step)) continue;
      const auto median = static_cast<double>(times.median(id));
      off += std::abs(static_cast<double>(graph.lengthOf(id)) - median);
      usual += median;
    }
    variation.push_back(ratio(off, usual));
  }
  return variation;
}

}  // namespace pipetrace
