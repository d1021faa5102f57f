#include "analysis/diff/step_stretches.h"

#include <algorithm>
#include <set>

#include "analysis/explain/steps_that_lack_jobs.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

bool isForward(const JobGraph::Node& job) {
  return (job.kind == JobKind::kForward || job.kind == JobKind::kForwardBackward) &&
         job.event->part <= 0;
}

}  // namespace

StepStretches::StepStretches(const Run& run, const CountedSteps& counted)
    : run_(run), counted_(counted) {
  const JobGraph& graph = run.graph();
  stretches_.resize(graph.pipelines().size());
  pipelines_.resize(graph.ranks().size());
  for (std::size_t p = 0; p < graph.pipelines().size(); ++p) {
    for (const std::uint32_t rank : graph.pipelines()[p]) pipelines_[rank] = p;
    for (const BubbleWindow& window : run.basis().pipelines()[p].windows) {
      isAsynchronous_ = isAsynchronous_ || window.isWholeRun;
    }
  }
  if (isAsynchronous_) {
    for (std::size_t p = 0; p < stretches_.size(); ++p) {
      for (const BubbleWindow& window : run.basis().pipelines()[p].windows) cut(p, window.span);
    }
    between_.resize(numbers_.size());
    loads_.resize(numbers_.size());
    return;
  }
  findSteps();
  findStretches();
}

void StepStretches::findSteps() {
  const StepsThatLackJobs lacking = stepsThatLackJobs(run_.basis(), counted_);
  allAreIncomplete_ = !lacking.steps.empty() && !lacking.whole;
  if (!allAreIncomplete_) incomplete_ = lacking.steps.size();
  std::set<std::int32_t> steps;  // that count
  for (const PipelineBasis& pipeline : run_.basis().pipelines()) {
    for (const BubbleWindow& window : pipeline.windows) {
      if (counted_.contains(window.step)) steps.insert(window.step);
    }
  }
  for (const std::int32_t step : steps) {
    const bool lacks = std::binary_search(lacking.steps.begin(), lacking.steps.end(), step);
    if (lacks && !allAreIncomplete_) continue;
    indices_.emplace(step, numbers_.size());
    numbers_.push_back(step);
  }
  findPauses();
}

void StepStretches::findPauses() {
  between_.resize(numbers_.size());
  loads_.resize(numbers_.size());
  std::set<std::size_t> last;  // steps that some pipeline ends with
  for (const StepSummary& step : run_.summary().steps) {
    const auto index = indices_.find(step.step);
    if (index == indices_.end()) continue;
    if (!step.isFollowed) last.insert(index->second);
    const auto ranks = static_cast<std::int64_t>(step.ranks.size());
    std::optional<Nanoseconds>& between = between_[index->second];
    between = between.value_or(0) + ranks * step.betweenSteps;
    loads_[index->second] += ranks * loadsIn(step);
  }
  for (const std::size_t index : last) {
    between_[index].reset();
    loads_[index] = 0;
  }
}

/// How long a rank of the pipeline loads data between a step and the next one: the one that does so
/// for longest.
Nanoseconds StepStretches::loadsIn(const StepSummary& step) const {
  if (step.betweenSteps == 0 || step.otherPhases > 0) return 0;
  const Interval pause{step.windowEnd, step.windowEnd + step.betweenSteps};
  const JobGraph& graph = run_.graph();
  Nanoseconds longest = 0;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    if (rank.replica != step.replica) continue;
    const auto jobs = graph.nodes().subspan(rank.first, rank.end - rank.first);
    // Jobs are in the order of their begins, and only the one before a pause may reach into it.
    auto job = std::partition_point(jobs.begin(), jobs.end(), [&](const JobGraph::Node& each) {
      return each.begin < pause.begin;
    });
    if (job != jobs.begin()) --job;
    Nanoseconds time = 0;
    for (; job != jobs.end() && job->begin < pause.end; ++job) {
      const Nanoseconds inside = std::min(job->end, pause.end) - std::max(job->begin, pause.begin);
      if (loadsData(job->kind) && inside > 0) time += inside;
    }
    longest = std::max(longest, std::min(time, pause.length()));
  }
  return longest;
}

void StepStretches::findStretches() {
  for (std::size_t p = 0; p < stretches_.size(); ++p) {
    for (const BubbleWindow& window : run_.basis().pipelines()[p].windows) {
      const auto index = indices_.find(window.step);
      if (index != indices_.end()) stretches_[p].push_back({window.span, index->second, 0});
    }
    countMicroBatches(p);
  }
}

/// A step has as many micro-batches as its pipeline has forwards of one stage.
void StepStretches::countMicroBatches(std::size_t pipeline) {
  const JobGraph& graph = run_.graph();
  std::vector<std::map<std::int32_t, std::int64_t>> forwards(numbers_.size());  // by stage
  for (const std::uint32_t r : graph.pipelines()[pipeline]) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isForward(job)) continue;
      const auto step = stepOf(pipeline, job);
      // Jobs without a stage are those of their rank.
      if (step) ++forwards[*step][job.stage >= 0 ? job.stage : -1 - static_cast<int>(r)];
    }
  }
  for (Stretch& each : stretches_[pipeline]) {
    for (const auto& [stage, count] : forwards[each.index]) {
      each.microBatches = std::max(each.microBatches, count);
    }
  }
}

void StepStretches::cut(std::size_t pipeline, const Interval& window) {
  const JobGraph& graph = run_.graph();
  const JobGraph::Rank& first = graph.ranks()[graph.pipelines()[pipeline].front()];
  std::vector<Nanoseconds> begins;  // of forwards
  std::vector<std::size_t> cuts;    // the first forwards of stretches
  std::int32_t latest = kNotGiven;
  for (Id id = first.first; id < first.end; ++id) {
    const JobGraph::Node& job = graph.node(id);
    if (!isForward(job) || job.begin < window.begin || job.begin >= window.end) continue;
    if (job.step > latest) cuts.push_back(begins.size());
    latest = std::max(latest, job.step);
    begins.push_back(job.begin);
  }
  if (cuts.size() < kLeastSteps) {
    cuts.clear();
    const std::size_t parts = std::min(kParts, begins.size());
    for (std::size_t part = 0; part < parts; ++part) {
      cuts.push_back(part * begins.size() / parts);
    }
  }
  if (cuts.empty()) cuts.push_back(0);
  std::vector<Stretch>& stretches = stretches_[pipeline];
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const bool isLast = i + 1 == cuts.size();
    const std::size_t to = isLast ? begins.size() : cuts[i + 1];
    const Interval span{i == 0 ? window.begin : begins[cuts[i]], isLast ? window.end : begins[to]};
    const std::size_t index = stretches.size();
    stretches.push_back({span, index, static_cast<std::int64_t>(to - cuts[i])});
    if (index == numbers_.size()) numbers_.push_back(static_cast<std::int32_t>(index));
  }
}

std::optional<std::size_t> StepStretches::stepOf(std::size_t pipeline,
                                                 const JobGraph::Node& node) const {
  if (isAsynchronous_) {
    const std::vector<Stretch>& stretches = stretches_[pipeline];
    const auto next = std::upper_bound(
        stretches.begin(), stretches.end(), node.begin,
        [](Nanoseconds time, const Stretch& each) { return time < each.span.begin; });
    if (next == stretches.begin()) return std::nullopt;
    const Stretch& found = *(next - 1);
    return node.begin < found.span.end ? std::optional(found.index) : std::nullopt;
  }
  const auto index = indices_.find(node.step);
  return index == indices_.end() ? std::nullopt : std::optional(index->second);
}

}  // namespace pipetrace
