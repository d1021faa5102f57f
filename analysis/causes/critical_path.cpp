#include "analysis/causes/critical_path.h"

#include <algorithm>

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// A job that ends a step may be an optimizer, where paths end otherwise.
Id predecessorOf(const RunBasis& basis, Id id) {
  const JobGraph::Node& node = basis.graph().node(id);
  const Id before = basis.paths().predecessor(id);
  if (before != JobGraph::kNone || node.kind != JobKind::kOptimizer) return before;
  return node.collective != JobGraph::kNone ? node.collective : node.before;
}

/// Only a message on a line has several; then the largest counts.
BubbleClass causeOfWait(const RunBasis& basis, Id id) {
  const Collected late = basis.paths().lateness(id);
  const auto timeOf = [&](BubbleClass cause) { return late.sums[causeIndex(cause)]; };
  BubbleClass most = BubbleClass::kLateStart;
  for (auto cause = kCauses.rbegin(); cause != kCauses.rend(); ++cause) {
    if (timeOf(*cause) > timeOf(most)) most = *cause;
  }
  return most;
}

}  // namespace

StepPath criticalPathOf(const RunBasis& basis, const PipelineBasis& pipeline,
                        const BubbleWindow& window) {
  const JobGraph& graph = basis.graph();
  StepPath path{.replica = pipeline.replica, .step = window.step};
  Nanoseconds upTo = window.span.end;
  // A window that is cut ends in the middle of its step.
  Id at = window.last;
  for (; at != JobGraph::kNone && upTo > window.span.begin; at = predecessorOf(basis, at)) {
    const JobGraph::Node& node = graph.node(at);
    if (!path.links.empty()) {
      StepPath::Link& after = path.links.back();
      const Nanoseconds end = std::clamp(node.end, window.span.begin, upTo);
      after.wait = upTo - end;
      after.cause = causeOfWait(basis, after.node);
      upTo = end;
    }
    const Nanoseconds begin = std::clamp(node.begin, window.span.begin, upTo);
    path.links.push_back({.node = at, .begin = begin, .end = upTo});
    upTo = begin;
  }
  if (!path.links.empty()) path.links.back().wait = upTo - window.span.begin;
  std::reverse(path.links.begin(), path.links.end());
  return path;
}

void PathShares::add(const JobGraph& graph, const StepPath& path) {
  for (const StepPath::Link& link : path.links) {
    const JobGraph::Node& node = graph.node(link.node);
    const Nanoseconds time = link.end - link.begin;
    if (link.wait > 0) {
      const bool isFirst = &link == &path.links.front();
      byKind[isFirst ? "before" : std::string(bubbleClassName(link.cause))] += link.wait;
    }
    if (time == 0) continue;
    byKind[node.isMessage ? "transfer" : std::string(logName(node.kind))] += time;
    if (!node.isMessage && isCompute(node.kind) && node.stage >= 0) {
      byStage[node.stage] += time;
    }
  }
}

}  // namespace pipetrace
