#include "analysis/graph/usual_times.h"

#include <map>
#include <utility>

#include "analysis/median.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;
using StageKind = std::pair<std::int32_t, JobKind>;

/// The jobs of each stage and kind of a pipeline.
std::map<StageKind, std::vector<Id>> groupsOf(const JobGraph& graph, std::size_t pipeline) {
  std::map<StageKind, std::vector<Id>> groups;
  for (const std::uint32_t r : graph.pipelines()[pipeline]) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    // Most ranks have few groups.
    std::vector<std::pair<StageKind, std::vector<Id>*>> latest;
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isCompute(job.kind)) continue;
      const StageKind key{job.stage, job.kind};
      std::vector<Id>* group = nullptr;
      for (std::size_t i = 0; i < latest.size() && group == nullptr && i < 16; ++i) {
        if (latest[i].first == key) group = latest[i].second;
      }
      if (group == nullptr) {
        group = &groups[key];
        latest.emplace_back(key, group);
      }
      group->push_back(id);
    }
  }
  return groups;
}

}  // namespace

UsualTimes::UsualTimes(const JobGraph& graph, int threads)
    : graph_(graph), group_(graph.jobCount()), medians_(1) {
  std::vector<std::map<StageKind, std::vector<Id>>> pipelines(graph.pipelines().size());
  inParallel(threads, pipelines.size(), [&](std::size_t p) { pipelines[p] = groupsOf(graph, p); });
  std::vector<std::pair<JobKind, const std::vector<Id>*>> all;
  for (const auto& groups : pipelines) {
    for (const auto& [key, jobs] : groups) all.emplace_back(key.second, &jobs);
  }
  medians_.resize(all.size() + 1);
  inParallel(threads, all.size(), [&](std::size_t g) {
    std::vector<Nanoseconds> durations;
    durations.reserve(all[g].second->size());
    for (const Id job : *all[g].second) {
      durations.push_back(graph.node(job).end - graph.node(job).begin);
      group_[job] = static_cast<std::uint32_t>(g + 1);
    }
    medians_[g + 1] = medianOf(durations);
  });
  std::map<JobKind, std::vector<Nanoseconds>> ofKind;
  for (std::size_t g = 0; g < all.size(); ++g) ofKind[all[g].first].push_back(medians_[g + 1]);
  for (auto& [kind, medians] : ofKind) ofKind_[static_cast<std::size_t>(kind)] = medianOf(medians);
  imbalances_.resize(medians_.size());
  for (std::size_t g = 0; g < all.size(); ++g) {
    imbalances_[g + 1] = medians_[g + 1] - ofKind_[static_cast<std::size_t>(all[g].first)];
  }
}

}  // namespace pipetrace
