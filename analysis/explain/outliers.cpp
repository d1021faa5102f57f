#include "analysis/explain/outliers.h"

#include "analysis/explain/culprits.h"

namespace pipetrace {

JobGraph::Id Outliers::of(const Bubble& bubble) const {
  using Id = JobGraph::Id;
  const bool isTransfer = bubble.bubbleClass == BubbleClass::kTransfer;
  const bool isPeerWait = bubble.bubbleClass == BubbleClass::kPeerWait;
  const bool mayBePause = isPeerWait || bubble.bubbleClass == BubbleClass::kLateStart;
  if (mayBePause && pauses_.contains(bubble.culprit)) return bubble.culprit;
  if (!isTransfer && !isPeerWait) return JobGraph::kNone;
  const Id id = isTransfer ? bubble.cause : bubble.culprit;
  if (id == JobGraph::kNone) return id;
  const JobGraph::Node& node = graph_.node(id);
  const Nanoseconds length = node.end - node.begin;
  if (length <= least_ || node.isMessage != isTransfer || node.isCollective) return JobGraph::kNone;
  Nanoseconds usual = 0;
  if (isTransfer) {
    const auto [from, to] = linkOf(graph_, bubble);
    usual = links_.of({std::min(from, to), std::max(from, to)});
  } else {
    usual = times_.median(id);
  }
  return usual > 0 && length / kManyTimes >= usual ? id : JobGraph::kNone;
}

}  // namespace pipetrace
