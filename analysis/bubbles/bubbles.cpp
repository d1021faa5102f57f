#include "analysis/bubbles/bubbles.h"

#include <algorithm>
#include <map>

#include "analysis/bubbles/rank_bubbles.h"
#include "analysis/steps/incomplete_steps.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// By step: whether each rank has as many compute jobs as usual, or more.
std::vector<char> wholeSteps(const StepJobs& jobs) {
  std::vector<char> whole(jobs.steps().size(), 1);
  for (std::size_t position = 0; position < jobs.rankCount(); ++position) {
    std::vector<std::int64_t> counts(whole.size());
    for (std::size_t step = 0; step < counts.size(); ++step) {
      counts[step] = static_cast<std::int64_t>(jobs.jobs(step, position).size());
    }
    std::vector<std::int64_t> sorted = counts;
    const std::int64_t usual = usualCount(sorted);
    for (std::size_t step = 0; step < counts.size(); ++step) {
      if (counts[step] < usual) whole[step] = 0;
    }
  }
  return whole;
}

/// The windows of a pipeline in order, with the jobs that end them.
std::vector<BubbleWindow> windowsOf(const JobGraph& graph, const StepJobs& jobs,
                                    const RunSummary& summary, int replica) {
  std::vector<BubbleWindow> windows;
  for (const StepSummary& step : summary.steps) {
    if (step.replica != replica) continue;
    windows.push_back({{step.begin, step.windowEnd}, step.step});
  }
  std::vector<Id> lastJobs(jobs.steps().size(), JobGraph::kNone);
  for (const std::uint32_t r : jobs.ranks()) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    for (Id id = rank.first; id < rank.end; ++id) {
      const Event& job = *graph.node(id).event;
      if (!isOfStep(job.kind) || job.step < 0) continue;
      const std::size_t step = jobs.indexOf(job.step);
      if (step == jobs.steps().size() || jobs.steps()[step] != job.step) continue;
      Id& last = lastJobs[step];
      if (last == JobGraph::kNone || graph.node(last).end < job.end) last = id;
    }
  }
  const std::vector<char> whole = wholeSteps(jobs);
  for (BubbleWindow& window : windows) {
    const std::size_t step = jobs.indexOf(window.step);
    window.last = lastJobs[step];
    window.isWhole = whole[step] != 0;
    const auto ofStep = jobs.jobs(step);
    window.hasPlan = std::none_of(ofStep.begin(), ofStep.end(),
                                  [&](Id id) { return graph.node(id).lacksInput; });
    for (const Id id : jobs.jobs(step)) {
      const bool isLater = window.lastCompute == JobGraph::kNone ||
                           graph.node(window.lastCompute).end < graph.node(id).end;
      if (isLater) window.lastCompute = id;
    }
  }
  std::stable_sort(windows.begin(), windows.end(),
                   [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
  return windows;
}

}  // namespace

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
  if (bubble.bubbleClass != BubbleClass::kTransfer) return bubble.cause;
  const Id first = graph.producer(bubble.cause, 0);
  const Id second = graph.producer(bubble.cause, 1);
  if (first == JobGraph::kNone || second == JobGraph::kNone) {
    return first == JobGraph::kNone ? second : first;
  }
  return graph.node(first).end < graph.node(second).end ? second : first;
}

Bubbles classifyBubbles(const JobGraph& graph, const RunSummary& summary, int threads) {
  Bubbles bubbles;
  bubbles.byRank.resize(graph.ranks().size());
  const UsualTimes times(graph, threads);
  const std::size_t count = graph.pipelines().size();
  const int pipelinesAtOnce = count > 1 ? threads : 1;
  inParallel(pipelinesAtOnce, count, [&](std::size_t p) {
    const StepJobs jobs(graph, p);
    if (jobs.steps().empty()) return;
    const BindingPaths paths(graph, times, p);
    const PlannedIdle planned(graph, jobs, times);
    const int replica = graph.ranks()[jobs.ranks().front()].replica;
    const std::vector<BubbleWindow> windows = windowsOf(graph, jobs, summary, replica);
    const PipelineBasis basis{graph, jobs, paths, planned, windows};
    inParallel(count > 1 ? 1 : threads, jobs.rankCount(), [&](std::size_t i) {
      const std::uint32_t rank = jobs.ranks()[i];
      bubbles.byRank[rank] = RankBubbles(basis, rank).classify();
    });
  });
  return bubbles;
}

}  // namespace pipetrace
