#include "analysis/slowdown/usable_steps.h"

#include <algorithm>
#include <iterator>

#include "analysis/steps/incomplete_steps.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {

UsableSteps usableSteps(const Timeline& timeline, const JobGraph& graph, const Topology& topology,
                        std::span<const std::int32_t> given, int threads) {
  UsableSteps usable;
  if (graph.ranks().empty()) {
    usable.reason = "there are no compute jobs";
    return usable;
  }
  std::vector<std::vector<std::int32_t>> found(graph.ranks().size());
  inParallel(threads, found.size(), [&](std::size_t r) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isCompute(job.kind) || job.step < 0) continue;
      if (found[r].empty() || found[r].back() != job.step) found[r].push_back(job.step);
    }
    std::sort(found[r].begin(), found[r].end());
    found[r].erase(std::unique(found[r].begin(), found[r].end()), found[r].end());
  });
  std::vector<std::int32_t>& steps = usable.steps;
  steps = found.front();
  const auto keep = [&](const auto& others, bool isIn) {
    std::erase_if(steps, [&](std::int32_t step) {
      return std::binary_search(others.begin(), others.end(), step) != isIn;
    });
  };
  for (const auto& each : found) keep(each, true);
  if (steps.empty()) {
    usable.reason = "no step has compute jobs of all ranks";
    return usable;
  }
  if (given.empty()) {
    keep(incompleteSteps(timeline, topology, threads), false);
    if (steps.empty()) usable.reason = "some rank lacks jobs in each step";
  } else {
    std::vector<std::int32_t> wanted(given.begin(), given.end());
    std::sort(wanted.begin(), wanted.end());
    keep(wanted, true);
    if (steps.empty()) usable.reason = "none of these steps has compute jobs of all ranks";
  }
  return usable;
}

}  // namespace pipetrace
