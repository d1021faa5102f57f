#include "analysis/bubbles/bubbles.h"

#include <algorithm>

#include "analysis/bubbles/rank_bubbles.h"
#include "analysis/graph/job_name.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {

JobGraph::Id frontEndOf(const JobGraph& graph, const Bubble& bubble) {
  return bubble.isAtSender ? graph.sendOf(bubble.culprit) : graph.receiveOf(bubble.culprit);
}

JobGraph::Id lateMessageOf(const JobGraph& graph, const Bubble& bubble) {
  const bool isLate = bubble.bubbleClass == BubbleClass::kLateStart &&
                      bubble.cause != JobGraph::kNone && graph.node(bubble.cause).isMessage;
  if (!isLate) return JobGraph::kNone;
  // A receive that was posted in time, and waited for late, is as late as the job that needs it.
  const Event* const receive = graph.message(bubble.cause).receive;
  const bool isInTime = receive != nullptr && receive->begin < graph.node(bubble.cause).begin;
  return isInTime && !isPostedBySender(graph, bubble.cause) ? JobGraph::kNone : bubble.cause;
}

bool isPostedBySender(const JobGraph& graph, JobGraph::Id message) {
  const JobGraph::Message& ends = graph.message(message);
  const bool isSendLast = ends.send != nullptr && ends.send->begin >= graph.node(message).begin;
  return ends.receive == nullptr || isSendLast;
}

std::uint32_t culpritRankOf(const JobGraph& graph, const Bubble& bubble) {
  if (bubble.bubbleClass != BubbleClass::kBlocked) return graph.node(bubble.culprit).rank;
  return graph.lineEnd(frontEndOf(graph, bubble)).rank;
}

const Event& culpritEventOf(const JobGraph& graph, const Bubble& bubble) {
  if (const JobGraph::Id late = lateMessageOf(graph, bubble); late != JobGraph::kNone) {
    const JobGraph::Message& ends = graph.message(late);
    return isPostedBySender(graph, late) ? *ends.send : *ends.receive;
  }
  const JobGraph::Node& culprit = graph.node(bubble.culprit);
  return culprit.isMessage && bubble.isAtSender ? *graph.message(bubble.culprit).send
                                                : *culprit.event;
}

std::string culpritName(const Timeline& timeline, const JobGraph& graph, const Bubble& bubble) {
  const JobGraph::Node& culprit = graph.node(bubble.culprit);
  if (const JobGraph::Id late = lateMessageOf(graph, bubble); late != JobGraph::kNone) {
    return messageName(culpritEventOf(graph, bubble), graph.node(late).microBatch);
  }
  if (bubble.bubbleClass != BubbleClass::kBlocked) return jobName(timeline, culprit);
  return messageName(culpritEventOf(graph, bubble), culprit.microBatch);
}

Bubbles classifyBubbles(const RunBasis& basis, int threads) {
  const JobGraph& graph = basis.graph();
  std::vector<const PipelineBasis*> pipelineOf(graph.ranks().size(), nullptr);
  std::size_t windows = 0;
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    for (const std::uint32_t rank : pipeline.jobs.ranks()) pipelineOf[rank] = &pipeline;
    windows = std::max(windows, pipeline.windows.size());
  }
  std::vector<RankBubbles> ranks;
  ranks.reserve(pipelineOf.size());
  for (std::uint32_t r = 0; r < pipelineOf.size(); ++r) {
    ranks.emplace_back(basis, *pipelineOf[r], r);
  }
  // A few steps at once: what paths need of these stays in the processor's caches. They let go of
  // earlier ones, so that memory stays flat.
  constexpr std::size_t kNodesAtOnce = 16384;
  const std::size_t nodes = graph.nodes().size() / std::max<std::size_t>(1, pipelineOf.size()) + 1;
  const std::size_t most =
      basis.pipelines().empty() ? 1 : pipelineOf.size() / basis.pipelines().size() + 1;
  const std::size_t atOnce = std::max<std::size_t>(1, windows * kNodesAtOnce / (nodes * most));
  for (std::size_t first = 0; first < windows; first += atOnce) {
    inParallel(threads, ranks.size(),
               [&](std::size_t r) { ranks[r].classifyUpTo(first + atOnce); });
    basis.paths().letGo();
  }
  basis.paths().letAllGo();
  Bubbles bubbles;
  for (RankBubbles& rank : ranks) {
    bubbles.times.push_back(rank.times());
    bubbles.byRank.push_back(rank.take());
  }
  return bubbles;
}

}  // namespace pipetrace
