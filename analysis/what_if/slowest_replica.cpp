#include "analysis/what_if/slowest_replica.h"

#include <algorithm>
#include <cstddef>

#include "analysis/explain/explanation.h"
#include "analysis/median.h"

namespace pipetrace {

const PipelineBasis& slowestPipeline(const RunBasis& basis, const CountedSteps& counted) {
  const PipelineBasis* slowest = &basis.pipelines().front();
  Nanoseconds longest = 0;
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    std::vector<Nanoseconds> lengths;
    for (const BubbleWindow& window : pipeline.windows) {
      if (!counted.contains(window.step) || window.lastCompute == JobGraph::kNone) continue;
      lengths.push_back(basis.graph().node(window.lastCompute).end - window.span.begin);
    }
    const Nanoseconds length = medianOf(lengths);
    if (length <= longest) continue;
    longest = length;
    slowest = &pipeline;
  }
  return *slowest;
}

Nanoseconds tailOf(const JobGraph& graph, const PipelineBasis& pipeline,
                   const CountedSteps& counted) {
  std::vector<Nanoseconds> tails;
  for (const BubbleWindow& window : pipeline.windows) {
    if (!counted.contains(window.step) || !window.isWhole) continue;
    if (window.last == JobGraph::kNone || window.lastCompute == JobGraph::kNone) continue;
    tails.push_back(graph.node(window.last).end - graph.node(window.lastCompute).end);
  }
  return medianOf(tails);
}

std::optional<SlowestReplica> slowestReplicaOf(const Timeline& timeline) {
  const Explanation run = classifiedRun(timeline, 1);
  const auto replicas = run.topology.replicas();
  const std::size_t peers = static_cast<std::size_t>(std::max(1, run.topology.tensorRanks));
  const std::vector<PipelineBasis>& pipelines = run.basis->pipelines();
  const bool isAsynchronous = std::any_of(run.summary.steps.begin(), run.summary.steps.end(),
                                          [](const auto& step) { return step.isWholeRun; });
  if (isAsynchronous || pipelines.size() / peers < 2) return std::nullopt;
  const CountedSteps counted = countedStepsOf(timeline);
  const PipelineBasis& slowest = slowestPipeline(*run.basis, counted);
  const auto found = replicas.find(slowest.replica);
  if (found == replicas.end()) return std::nullopt;
  return SlowestReplica{.replica = run.topology.dataParallelIndex(slowest.replica),
                        .replicas = static_cast<int>(pipelines.size() / peers),
                        .ranks = found->second,
                        .tail = tailOf(*run.graph, slowest, counted)};
}

}  // namespace pipetrace
