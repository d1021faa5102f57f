#include "analysis/bubbles/binding_paths.h"

#include <algorithm>

namespace pipetrace {

void Collected::add(Cause cause, Nanoseconds time, JobGraph::Id job) {
  const auto c = static_cast<std::size_t>(cause);
  if (time <= 0) return;
  sums[c] += time;
  if (time <= largest[c]) return;
  largest[c] = time;
  culprit[c] = job;
}

void Collected::add(const Collected& other) {
  for (std::size_t c = 0; c < kCauseCount; ++c) {
    sums[c] += other.sums[c];
    if (other.largest[c] <= largest[c]) continue;
    largest[c] = other.largest[c];
    culprit[c] = other.culprit[c];
  }
}

Nanoseconds Collected::total() const {
  Nanoseconds total = 0;
  for (const Nanoseconds sum : sums) total += sum;
  return total;
}

BindingPaths::BindingPaths(const JobGraph& graph, const UsualTimes& times, std::size_t pipeline)
    : graph_(graph), times_(times) {
  const std::vector<std::uint32_t>& ranks = graph.pipelines()[pipeline];
  firstJob_ = graph.ranks()[ranks.front()].first;
  const Id endOfJobs = graph.ranks()[ranks.back()].end;
  jobs_ = endOfJobs - firstJob_;
  const auto [firstMessage, endOfMessages] = graph.messagesOf(pipeline);
  firstMessage_ = firstMessage;
  messages_ = endOfMessages - firstMessage;
}

void BindingPaths::linkAll() const {
  entries_.resize(jobs_ + messages_);
  std::vector<Id> waiting;
  for (Id job = firstJob_; job < firstJob_ + jobs_; ++job) {
    // Links of what comes before have to be there first.
    for (Id node = job; node != JobGraph::kNone && !entry(node).isKnown;) {
      waiting.push_back(node);
      node = entries_[indexOf(node)].before = predecessor(node);
    }
    for (; !waiting.empty(); waiting.pop_back()) link(waiting.back());
  }
}

bool BindingPaths::ends(Id node) const {
  const JobKind kind = graph_.node(node).kind;
  return kind == JobKind::kLr || kind == JobKind::kOptimizer;
}

/// Only what began earlier counts, so that no path comes back, whatever the clocks say.
JobGraph::Id BindingPaths::predecessor(Id id) const {
  if (id < graph_.jobCount() && ends(id)) return JobGraph::kNone;
  const JobGraph::Node& node = graph_.node(id);
  const auto isEarlier = [&](Id other) {
    const JobGraph::Node& n = graph_.node(other);
    if (n.begin != node.begin) return n.begin < node.begin;
    return n.end != node.end ? n.end < node.end : other < id;
  };
  Id binding = JobGraph::kNone;
  const Id ofJob[] = {node.before, node.inputs[0], node.inputs[1]};
  const Id ofMessage[] = {node.inputs[0], node.before, JobGraph::kNone};
  for (const Id other : node.isMessage ? ofMessage : ofJob) {  // the first of those that tie
    if (other == JobGraph::kNone || !isEarlier(other)) continue;
    if (binding == JobGraph::kNone || graph_.node(other).end > graph_.node(binding).end) {
      binding = other;
    }
  }
  return binding;
}

std::uint64_t BindingPaths::bitOf(Id node) const {
  if (node >= graph_.jobCount()) return 0;
  const int position = graph_.ranks()[graph_.node(node).rank].position;
  return std::uint64_t{1} << (static_cast<unsigned>(position) % 64U);
}

void BindingPaths::link(Id node) const {
  Entry& entry = entries_[indexOf(node)];
  entry.isKnown = true;
  entry.positions = bitOf(node);
  entry.skipped = of(node);
  entry.jump = entry.before;
  if (entry.before == JobGraph::kNone) return;
  const Entry& before = this->entry(entry.before);
  entry.depth = before.depth + 1;
  if (before.jump == JobGraph::kNone) return;
  const Entry& far = this->entry(before.jump);
  const bool areAlike = far.jump != JobGraph::kNone &&
                        before.depth - far.depth == far.depth - this->entry(far.jump).depth;
  if (!areAlike) return;
  entry.jump = far.jump;
  entry.positions |= before.positions | far.positions;
  entry.skipped.add(before.skipped);
  entry.skipped.add(far.skipped);
}

Collected BindingPaths::lateness(Id id) const {
  Collected collected;
  const JobGraph::Node& node = graph_.node(id);
  if (id < graph_.jobCount() && ends(id)) return collected;
  Nanoseconds ready = kNsMin;
  for (const Id other : {node.before, node.inputs[0], node.inputs[1]}) {
    if (other != JobGraph::kNone) ready = std::max(ready, graph_.node(other).end);
  }
  if (ready == kNsMin || ready >= node.begin) return collected;
  const Nanoseconds late = node.begin - ready;
  if (node.lacksInput) {
    collected.add(Cause::kUnknown, late, JobGraph::kNone);
    return collected;
  }
  if (node.isMessage) {
    collected.add(Cause::kLaunch, late, id);
    return collected;
  }
  // Where no message is logged, the time after the producer's end is the message's.
  for (const Id input : node.inputs) {
    if (input == JobGraph::kNone || graph_.node(input).isMessage) continue;
    collected.add(Cause::kTransfer, late, id);
    return collected;
  }
  collected.add(Cause::kLaunch, late, id);
  return collected;
}

Collected BindingPaths::of(Id id) const {
  Collected collected = lateness(id);
  const JobGraph::Node& node = graph_.node(id);
  if (node.isMessage) {
    collected.add(Cause::kTransfer, node.end - node.begin, id);
  } else if (isCompute(node.kind)) {
    const Nanoseconds median = times_.median(id);
    collected.add(Cause::kPeerWait, node.end - node.begin - median, id);
    collected.add(Cause::kImbalance, median - times_.balanced(id), id);
  } else if (node.kind == JobKind::kData) {
    collected.add(Cause::kLaunch, node.end - node.begin, id);
  }
  return collected;
}

Collected BindingPaths::upTo(Id node, std::uint32_t rank) const {
  Collected collected;
  const auto isEnd = [&](Id at) {
    return at == JobGraph::kNone ||
           (at < graph_.jobCount() && (graph_.node(at).rank == rank || ends(at)));
  };
  // Walking all paths may take some steps a job; from then on links pay.
  constexpr int kMostSteps = 64;
  constexpr std::int64_t kStepsPerJob = 4;
  Id at = predecessor(node);
  if (steps_.load(std::memory_order_relaxed) < kStepsPerJob * static_cast<std::int64_t>(jobs_)) {
    int steps = 0;
    for (; !isEnd(at) && steps < kMostSteps; ++steps) {
      collected.add(of(at));
      at = predecessor(at);
    }
    steps_.fetch_add(steps, std::memory_order_relaxed);
  }
  if (isEnd(at)) return collected;
  std::call_once(isLinked_, [this] { linkAll(); });
  const auto position = static_cast<unsigned>(graph_.ranks()[rank].position) % 64U;
  const std::uint64_t bit = std::uint64_t{1} << position;
  while (!isEnd(at)) {
    const Entry& here = entry(at);
    if ((here.positions & bit) == 0) {
      collected.add(here.skipped);
      at = here.jump;
    } else {
      collected.add(of(at));
      at = here.before;
    }
  }
  return collected;
}

}  // namespace pipetrace
