#include "analysis/explain/critical_path.h"

#include <algorithm>
#include <unordered_map>

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// A job that ends a step may be an optimizer, where paths end otherwise.
Id predecessorOf(const RunBasis& basis, Id id) {
  const JobGraph::Node& node = basis.graph().node(id);
  if (node.kind != JobKind::kOptimizer) return basis.paths().predecessor(id);
  return node.collective != JobGraph::kNone ? node.collective : node.before;
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
      const Collected late = basis.paths().lateness(after.node);
      after.waitsForMessage = !graph.node(after.node).isMessage &&
                              late.sums[static_cast<std::size_t>(Cause::kTransfer)] > 0;
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
      byKind[isFirst ? "before" : link.waitsForMessage ? "transfer" : "launch"] += link.wait;
    }
    if (time == 0) continue;
    byKind[node.isMessage ? "transfer" : std::string(logName(node.kind))] += time;
    if (!node.isMessage && isCompute(node.kind) && node.stage >= 0) {
      byStage[node.stage] += time;
    }
  }
}

std::vector<Nanoseconds> slackOf(const JobGraph& graph, const PipelineBasis& pipeline,
                                 const BubbleWindow& window) {
  const auto jobs = pipeline.jobs.jobs(window.index);
  Nanoseconds end = window.span.end;
  for (const Id job : jobs) end = std::max(end, graph.node(job).end);
  std::vector<Id> order(jobs.begin(), jobs.end());
  // A job began before those that wait for it.
  std::sort(order.begin(), order.end(), [&](Id a, Id b) {
    const JobGraph::Node& left = graph.node(a);
    const JobGraph::Node& right = graph.node(b);
    if (left.begin != right.begin) return left.begin > right.begin;
    return left.end != right.end ? left.end > right.end : a > b;
  });
  std::unordered_map<Id, Nanoseconds> slack;
  slack.reserve(2 * jobs.size());
  const auto lower = [&](Id node, Nanoseconds to) {
    const auto [found, isNew] = slack.try_emplace(node, to);
    if (!isNew) found->second = std::min(found->second, to);
  };
  const auto own = [&](Id node) {
    const auto found = slack.find(node);
    return found == slack.end() ? end - graph.node(node).end : found->second;
  };
  const auto pass = [&](Id node, Nanoseconds time) {
    const JobGraph::Node& later = graph.node(node);
    // A collective waits for what its last member waited for.
    const Id input = later.isCollective && later.inputs[0] != JobGraph::kNone
                         ? graph.node(later.inputs[0]).before
                         : later.inputs[0];
    for (const Id before : {later.before, later.collective, input, later.inputs[1]}) {
      if (before == JobGraph::kNone) continue;
      const Nanoseconds wait = std::max<Nanoseconds>(0, later.begin - graph.node(before).end);
      lower(before, std::min(time + wait, end - graph.node(before).end));
    }
  };
  const auto passOn = [&](Id node) {  // what is no job, up to the next job
    while (node != JobGraph::kNone && graph.node(node).isCollective) {
      pass(node, own(node));
      node = graph.node(node).before;
    }
  };
  for (const Id job : order) {
    const Nanoseconds time = own(job);
    lower(job, time);
    pass(job, time);
    passOn(graph.node(job).collective);
    for (const Id input : graph.node(job).inputs) {
      if (input != JobGraph::kNone && graph.node(input).isMessage) pass(input, own(input));
    }
  }
  std::vector<Nanoseconds> result;
  result.reserve(jobs.size());
  for (const Id job : jobs) result.push_back(std::max<Nanoseconds>(0, own(job)));
  return result;
}

}  // namespace pipetrace
