#include "analysis/bubbles/bubbles.h"

#include "analysis/bubbles/rank_bubbles.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {

ClassTimes Bubbles::times(std::uint32_t rank) const {
  ClassTimes times{};
  for (const Bubble& bubble : byRank[rank]) {
    times[static_cast<std::size_t>(bubble.bubbleClass)] += bubble.end - bubble.begin;
  }
  return times;
}

JobGraph::Id culpritOf(const JobGraph& graph, const Bubble& bubble) {
  if (bubble.cause == JobGraph::kNone) return JobGraph::kNone;
  const JobGraph::Node& cause = graph.node(bubble.cause);
  if (cause.isMessage) return cause.inputs[0];
  if (cause.isCollective)
    return cause.inputs[0] != JobGraph::kNone ? cause.inputs[0] : bubble.cause;
  if (bubble.bubbleClass != BubbleClass::kTransfer) return bubble.cause;
  const JobGraph::Id first = graph.producer(bubble.cause, 0);
  const JobGraph::Id second = graph.producer(bubble.cause, 1);
  if (first == JobGraph::kNone || second == JobGraph::kNone) {
    return first == JobGraph::kNone ? second : first;
  }
  return graph.node(first).end < graph.node(second).end ? second : first;
}

Bubbles classifyBubbles(const RunBasis& basis, int threads) {
  Bubbles bubbles;
  bubbles.byRank.resize(basis.graph().ranks().size());
  std::vector<const PipelineBasis*> pipelineOf(bubbles.byRank.size(), nullptr);
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    for (const std::uint32_t rank : pipeline.jobs.ranks()) pipelineOf[rank] = &pipeline;
  }
  inParallel(threads, bubbles.byRank.size(), [&](std::size_t r) {
    const auto rank = static_cast<std::uint32_t>(r);
    bubbles.byRank[r] = RankBubbles(basis, *pipelineOf[r], rank).classify();
  });
  return bubbles;
}

}  // namespace pipetrace
