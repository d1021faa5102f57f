#include "analysis/run/bubbles/step_tail.h"

#include <algorithm>

namespace pipetrace {

void StepTail::Part::add(Nanoseconds more, Id node) {
  time += more;
  if (more <= largest) return;
  largest = more;
  cause = node;
}

StepTail tailOf(const JobGraph& graph, const BindingPaths& paths, JobGraph::Id lastCompute,
                JobGraph::Id last, Nanoseconds end) {
  using Id = JobGraph::Id;
  StepTail tail;
  if (lastCompute == JobGraph::kNone) return tail;
  const Nanoseconds begin = graph.node(lastCompute).end;
  Nanoseconds upTo = end;
  const auto goBackTo = [&](Nanoseconds time, StepTail::Part& part, Id cause) {
    const Nanoseconds from = std::clamp(time, begin, std::max(begin, upTo));
    if (from < upTo) part.add(upTo - from, cause);
    upTo = std::min(upTo, from);
  };
  Id later = last;
  for (Id at = last; at != JobGraph::kNone && upTo > begin; at = paths.waitedFor(at)) {
    const JobGraph::Node& node = graph.node(at);
    // Nobody logs all that a program does between its last backward and its optimizer.
    const bool isLate = graph.node(later).isCollective;
    goBackTo(node.end, tail.of(isLate ? BubbleClass::kLateStart : BubbleClass::kSync), later);
    if (isCompute(node.kind)) {
      const bool isExact = !paths.isBelowClockBound(lastCompute, at, upTo - begin);
      goBackTo(begin, isExact ? tail.wait : tail.of(BubbleClass::kSync), isExact ? at : later);
      return tail;
    }
    const bool lacksMembers = node.isCollective && node.lacksInput;
    goBackTo(node.begin, tail.of(lacksMembers ? BubbleClass::kUnknown : classOfWork(node.kind)),
             at);
    later = at;
  }
  goBackTo(begin, tail.of(BubbleClass::kSync), later);
  return tail;
}

WaitPath waitPathOf(const JobGraph& graph, const BindingPaths& paths, JobGraph::Id job) {
  constexpr int kMostNodes = 4096;
  WaitPath path;
  int nodes = 0;
  JobGraph::Id last = job;
  bool isOfStep = true;
  for (JobGraph::Id at = job; at != JobGraph::kNone; at = paths.predecessor(at)) {
    last = at;
    if (++nodes > kMostNodes) return {.isWhole = false, .ofStep = path.ofStep};
    const JobGraph::Node& node = graph.node(at);
    const Collected own = paths.of(at);
    path.collected.add(own);
    isOfStep = isOfStep && !node.isCollective && node.step == graph.node(job).step;
    if (isOfStep) path.ofStep.add(own);
    if (!node.isMessage && !node.isCollective) path.ranks.push_back(node.rank);
  }
  // Where ranks meet inside jobs, they wait for one of another pipeline since before its step
  // began.
  if (!graph.inside().empty() && last != JobGraph::kNone && isCompute(graph.node(last).kind)) {
    path.collected.add(paths.loadsBefore(last));
  }
  std::sort(path.ranks.begin(), path.ranks.end());
  path.ranks.erase(std::unique(path.ranks.begin(), path.ranks.end()), path.ranks.end());
  return path;
}

}  // namespace pipetrace
