#include "analysis/causes/slack.h"

#include <algorithm>

#include "analysis/median.h"
#include "trace/step_windows.h"

namespace pipetrace {
namespace {

/// More than any step lasts; a wait can be added to it.
constexpr Nanoseconds kUnlimited = kNsMax / 4;

}  // namespace

StepSlack::StepSlack(const JobGraph& graph, const StepJobs& jobs, std::size_t pipeline)
    : graph_(graph), jobs_(jobs) {
  const JobGraph::Rank& front = graph.ranks()[jobs.ranks().front()];
  const JobGraph::Rank& back = graph.ranks()[jobs.ranks().back()];
  const auto [firstMessage, endOfMessages] = graph.messagesOf(pipeline);
  ranges_[0] = {front.first, back.end, 0};
  ranges_[1] = {firstMessage, endOfMessages, back.end - front.first};
  ranges_[2] = {front.firstCollective, back.endOfCollectives,
                ranges_[1].offset + (endOfMessages - firstMessage)};
  slack_.assign(ranges_[2].offset + (ranges_[2].end - ranges_[2].first), kNsMax);
}

/// Null: the node is of another pipeline.
const StepSlack::Range* StepSlack::rangeOf(Id node) const {
  const Range& range = ranges_[node < graph_.jobCount() ? 0 : node < graph_.messageEnd() ? 1 : 2];
  return node >= range.first && node < range.end ? &range : nullptr;
}

/// Asks memory for the jobs of a later rank: those of a step are all over the graph.
void StepSlack::fetch(std::size_t step, std::size_t position) const {
  constexpr std::size_t kRanksAhead = 4;
  if (position + kRanksAhead >= jobs_.rankCount()) return;
  for (const Id job : jobs_.jobs(step, position + kRanksAhead)) {
    __builtin_prefetch(&graph_.node(job));
  }
}

/// The nodes of the step: on each rank from its first job to its last, the optimizer after it, and
/// the collectives.
void StepSlack::collect(const BubbleWindow& window) {
  nodes_.clear();
  step_ = window.step;
  end_ = window.span.end;
  const auto isOptimizer = [&](Id id) {
    return graph_.node(id).kind == JobKind::kOptimizer && graph_.node(id).step == step_;
  };
  for (std::size_t position = 0; position < jobs_.rankCount(); ++position) {
    fetch(window.index, position);
    const auto jobs = jobs_.jobs(window.index, position);
    if (jobs.empty()) continue;
    const JobGraph::Rank& rank = graph_.ranks()[jobs_.ranks()[position]];
    Id last = jobs.back();
    for (Id id = last + 1; id < rank.end && !isCompute(graph_.node(id).kind); ++id) {
      if (isOptimizer(id)) last = id;
    }
    for (Id id = jobs.front(); id <= last; ++id) nodes_.push_back(id);
    const auto nodes = graph_.nodes().begin();
    const auto first =
        std::partition_point(nodes + rank.firstCollective, nodes + rank.endOfCollectives,
                             [&](const JobGraph::Node& node) { return node.step < step_; });
    for (Id id = static_cast<Id>(first - nodes);
         id < rank.endOfCollectives && graph_.node(id).step == step_; ++id) {
      nodes_.push_back(id);
    }
  }
  for (const Id id : nodes_) {
    const JobGraph::Node& node = graph_.node(id);
    if (isOfStep(node.kind) && node.step == step_) end_ = std::max(end_, node.end);
  }
  // A node begins before those that wait for it. Members of a collective begin with the one that
  // came last.
  const auto isMember = [](const JobGraph::Node& node) {
    return node.isCollective && node.inputs[0] != JobGraph::kNone;
  };
  begins_.clear();
  for (const Id id : nodes_) begins_.emplace_back(graph_.node(id).begin, id);
  std::sort(begins_.begin(), begins_.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first > b.first;
    const JobGraph::Node& left = graph_.node(a.second);
    const JobGraph::Node& right = graph_.node(b.second);
    if (isMember(left) != isMember(right)) return isMember(left);
    return left.end != right.end ? left.end > right.end : a.second > b.second;
  });
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i] = begins_[i].second;
}

/// The slack of a node that nothing waits for.
Nanoseconds StepSlack::limit(Id id) const {
  const JobGraph::Node& node = graph_.node(id);
  const bool endsStep = isOfStep(node.kind) && node.step == step_;
  return endsStep ? end_ - node.end : kUnlimited;
}

void StepSlack::lower(Id node, Nanoseconds to) {
  const Range* const range = rangeOf(node);
  if (range == nullptr) return;
  const std::size_t index = range->offset + (node - range->first);
  if (slack_[index] == kNsMax) lowered_.push_back(index);
  slack_[index] = std::min(slack_[index], to);
}

Nanoseconds StepSlack::slackOf(Id node) const {
  const Range& range = *rangeOf(node);
  return std::min(slack_[range.offset + (node - range.first)], limit(node));
}

void StepSlack::pass(Id id) {
  const Nanoseconds slack = slackOf(id);
  const JobGraph::Node& node = graph_.node(id);
  for (const Id before : {node.before, node.collective, node.inputs[0], node.inputs[1]}) {
    if (before == JobGraph::kNone) continue;
    // 0 among the members of a collective, which end together.
    const Nanoseconds wait = node.begin - graph_.node(before).end;
    lower(before, slack + std::max<Nanoseconds>(0, wait));
  }
}

void StepSlack::find(const BubbleWindow& window, std::span<Nanoseconds> byJob) {
  collect(window);
  for (const Id id : nodes_) {
    pass(id);
    for (const Id input : graph_.node(id).inputs) {
      if (input != JobGraph::kNone && graph_.node(input).isMessage) pass(input);
    }
  }
  for (const Id job : jobs_.jobs(window.index)) {
    const Nanoseconds slack = slackOf(job);
    byJob[job] = slack < kUnlimited ? std::max<Nanoseconds>(0, slack) : kNotGiven;
  }
  for (const std::size_t index : lowered_) slack_[index] = kNsMax;
  lowered_.clear();
}

std::map<std::int32_t, StageSlack> slackByStage(const JobGraph& graph,
                                                std::span<const Nanoseconds> byJob) {
  std::map<std::int32_t, std::vector<Nanoseconds>> ofStages;
  std::vector<Nanoseconds>* list = nullptr;
  std::int32_t stage = kNotGiven;
  for (JobGraph::Id id = 0; id < byJob.size(); ++id) {
    const JobGraph::Node& node = graph.node(id);
    if (byJob[id] < 0 || node.stage < 0) continue;
    if (list == nullptr || node.stage != stage) list = &ofStages[stage = node.stage];
    list->push_back(byJob[id]);
  }
  std::map<std::int32_t, StageSlack> result;
  for (auto& [number, values] : ofStages) {
    result[number].least = *std::min_element(values.begin(), values.end());
    result[number].median = medianOf(values);
  }
  return result;
}

}  // namespace pipetrace
