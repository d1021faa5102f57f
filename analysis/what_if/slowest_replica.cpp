#include "analysis/what_if/slowest_replica.h"

#include "analysis/graph/job_graph.h"
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

}  // namespace pipetrace
