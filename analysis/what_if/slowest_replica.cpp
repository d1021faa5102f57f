#include "analysis/what_if/slowest_replica.h"

#include <algorithm>
#include <cstddef>

#include "analysis/graph/job_graph.h"
#include "analysis/median.h"
#include "analysis/run_summary.h"
#include "trace/topology.h"

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
  const Topology topology = topologyOf(timeline);
  const auto replicas = topology.replicas();
  if (replicas.size() < 2) return std::nullopt;
  const RunSummary summary = summarize(timeline);
  const JobGraph graph(timeline, topology);
  const RunBasis basis(graph, summary);
  const std::size_t peers = static_cast<std::size_t>(std::max(1, topology.tensorRanks));
  const std::vector<PipelineBasis>& pipelines = basis.pipelines();
  const bool isAsynchronous = std::any_of(summary.steps.begin(), summary.steps.end(),
                                          [](const auto& step) { return step.isWholeRun; });
  if (isAsynchronous || pipelines.size() / peers < 2) return std::nullopt;
  const CountedSteps counted = countedStepsOf(timeline);
  const PipelineBasis& slowest = slowestPipeline(basis, counted);
  const auto found = replicas.find(slowest.replica);
  if (found == replicas.end()) return std::nullopt;
  return SlowestReplica{.replica = topology.dataParallelIndex(slowest.replica),
                        .replicas = static_cast<int>(pipelines.size() / peers),
                        .ranks = found->second,
                        .tail = tailOf(graph, slowest, counted)};
}

}  // namespace pipetrace
