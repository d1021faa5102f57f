#include "analysis/explain/outliers.h"

#include "analysis/explain/culprits.h"

namespace pipetrace {

JobGraph::Id Outliers::of(const Bubble& bubble) const {
  using Id = JobGraph::Id;
  const bool isTransfer = bubble.bubbleClass == BubbleClass::kTransfer;
  if (!isTransfer && bubble.bubbleClass != BubbleClass::kPeerWait) return JobGraph::kNone;
  const Id id = isTransfer ? bubble.cause : bubble.culprit;
  if (id == JobGraph::kNone) return id;
  const JobGraph::Node& node = graph_.node(id);
  const Nanoseconds length = node.end - node.begin;
  if (length <= least_ || node.isMessage != isTransfer || node.isCollective) return JobGraph::kNone;
  const auto [from, to] = isTransfer ? linkOf(graph_, bubble) : std::pair(-1, -1);
  const Nanoseconds usual =
      isTransfer ? links_.of({std::min(from, to), std::max(from, to)}) : times_.median(id);
  return usual > 0 && length / kManyTimes >= usual ? id : JobGraph::kNone;
}

}  // namespace pipetrace
