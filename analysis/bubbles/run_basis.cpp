#include "analysis/bubbles/run_basis.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "analysis/rerun/run_network.h"
#include "analysis/steps/incomplete_steps.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {

namespace {

using Id = JobGraph::Id;

/// Whether a job needs data of a rank that is missing.
bool lacksInput(const JobGraph& graph, Id job) {
  const JobGraph::Node& node = graph.node(job);
  const auto comesFromNowhere = [&](Id input) {
    return input != JobGraph::kNone && graph.node(input).lacksInput && graph.node(input).isMessage;
  };
  return node.lacksInput || comesFromNowhere(node.inputs[0]) || comesFromNowhere(node.inputs[1]);
}

/// By step: whether each rank has as many compute jobs as usual, or more. Some rank has one in
/// each.
std::vector<char> wholeSteps(const StepJobs& jobs) {
  std::vector<char> whole(jobs.steps().size(), 1);
  if (jobs.areJoined()) return whole;  // they may have any number of jobs
  for (std::size_t position = 0; position < jobs.rankCount(); ++position) {
    std::vector<std::int64_t> counts(whole.size());
    for (std::size_t step = 0; step < counts.size(); ++step) {
      counts[step] = static_cast<std::int64_t>(jobs.jobs(step, position).size());
    }
    const std::int64_t least = leastCompute(counts);
    for (std::size_t step = 0; step < counts.size(); ++step) {
      if (counts[step] < least) whole[step] = 0;
    }
  }
  return whole;
}

/// The windows of a pipeline in order, with the jobs that end them.
std::vector<BubbleWindow> windowsOf(const JobGraph& graph, const BindingPaths& paths,
                                    const StepJobs& jobs, const RunSummary& summary, int replica) {
  std::vector<BubbleWindow> windows;
  for (const StepSummary& step : summary.steps) {
    if (step.replica != replica) continue;
    windows.push_back(
        {.span = {step.begin, step.windowEnd}, .step = step.step, .isWholeRun = step.isWholeRun});
  }
  std::vector<Id> lastJobs(jobs.steps().size(), JobGraph::kNone);
  std::int32_t latest = kNotGiven;
  std::size_t step = 0;
  for (const std::uint32_t r : jobs.ranks()) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isOfStep(job.kind) || job.step < 0) continue;
      const std::int32_t number = jobs.stepOf(id);
      if (number != latest) step = jobs.indexOf(latest = number);
      if (step == jobs.steps().size() || jobs.steps()[step] != number) continue;
      Id& last = lastJobs[step];
      if (last == JobGraph::kNone || graph.node(last).end < job.end) last = id;
    }
  }
  const std::vector<char> whole = wholeSteps(jobs);
  for (BubbleWindow& window : windows) {
    window.index = jobs.indexOf(window.step);
    window.last = lastJobs[window.index];
    window.isWhole = whole[window.index] != 0;
    const auto ofStep = jobs.jobs(window.index);
    window.lacksRanks =
        std::any_of(ofStep.begin(), ofStep.end(), [&](Id id) { return lacksInput(graph, id); });
    window.hasPlan = !window.lacksRanks;
    for (const Id id : ofStep) {
      const bool isLater = window.lastCompute == JobGraph::kNone ||
                           graph.node(window.lastCompute).end < graph.node(id).end;
      if (isLater) window.lastCompute = id;
    }
    window.tail = tailOf(graph, paths, window.lastCompute, window.last, window.span.end);
  }
  std::stable_sort(windows.begin(), windows.end(),
                   [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
  return windows;
}

/// The begins of the steps of a run. The time before is in no window of that step, and in a run
/// with lines without `lr` jobs nothing else would end its paths.
BindingPaths::StepBegins stepBeginsOf(const RunSummary& summary) {
  BindingPaths::StepBegins begins;
  for (const StepSummary& step : summary.steps) begins[{step.replica, step.step}] = step.begin;
  return begins;
}

/// The replicas whose pipelines are asynchronous.
std::set<int> asynchronousOf(const RunSummary& summary) {
  std::set<int> replicas;
  for (const StepSummary& step : summary.steps) {
    if (step.isWholeRun) replicas.insert(step.replica);
  }
  return replicas;
}

/// The numbers of the windows of an asynchronous pipeline; of another none.
std::vector<std::int32_t> beginsOfJoined(const RunSummary& summary, int replica) {
  std::vector<std::int32_t> begins;
  bool areJoined = false;
  for (const StepSummary& step : summary.steps) {
    if (step.replica != replica) continue;
    begins.push_back(step.step);
    areJoined = areJoined || step.isWholeRun;
  }
  if (!areJoined) return {};
  std::sort(begins.begin(), begins.end());
  return begins;
}

}  // namespace

PipelineBasis::PipelineBasis(const JobGraph& graph, std::size_t pipeline,
                             std::vector<std::int32_t> begins, int threads)
    : replica(graph.ranks()[graph.pipelines()[pipeline].front()].replica),
      jobs(graph, pipeline, std::move(begins), threads) {}

const BubbleWindow& PipelineBasis::lastWholeWindow() const {
  const auto whole = std::find_if(windows.rbegin(), windows.rend(),
                                  [](const BubbleWindow& window) { return window.isWhole; });
  return whole == windows.rend() ? windows.back() : *whole;
}

RunBasis::RunBasis(const JobGraph& graph, const RunSummary& summary, int threads)
    : graph_(graph),
      times_(graph, threads),
      paths_(graph, times_, stepBeginsOf(summary), asynchronousOf(summary)) {
  const std::size_t count = graph.pipelines().size();
  std::vector<std::optional<PipelineBasis>> made(count);
  const int inside = count == 1 ? threads : 1;
  inParallel(threads, count, [&](std::size_t p) {
    const int replica = graph.ranks()[graph.pipelines()[p].front()].replica;
    made[p].emplace(graph, p, beginsOfJoined(summary, replica), inside);
  });
  pipelines_.reserve(count);
  for (std::optional<PipelineBasis>& each : made) pipelines_.push_back(std::move(*each));
  // Several tasks for each pipeline, as many runs have only one. That has its steps on the threads
  // that are left.
  constexpr std::size_t kTasks = 2;
  inParallel(threads, count * kTasks, [&](std::size_t i) {
    PipelineBasis& pipeline = pipelines_[i / kTasks];
    if (i % kTasks == 0) {
      pipeline.planned = std::make_unique<PlannedIdle>(graph, pipeline.jobs, times_, inside);
    } else {
      pipeline.windows = windowsOf(graph, paths_, pipeline.jobs, summary, pipeline.replica);
    }
  });
  for (PipelineBasis& pipeline : pipelines_) {
    for (BubbleWindow& window : pipeline.windows) {
      window.ownLength = pipeline.planned->ownLength(window.index);
      const Id job = window.tail.wait.cause;
      if (job == JobGraph::kNone || waitPaths_.contains(job)) continue;
      waitPaths_.emplace(job, waitPathOf(graph, paths_, job));
    }
  }
}

void RunBasis::freeTables() {
  paths_.letAllGo();
  waitPaths_ = {};
  for (PipelineBasis& pipeline : pipelines_) pipeline.planned.reset();
}

PlannedIdle::PlannedIdle(const JobGraph& graph, const StepJobs& jobs, const MedianDurations& times,
                         int threads)
    : jobs_(jobs),
      after_(jobs.steps().size() * jobs.rankCount()),
      ownLengths_(jobs.steps().size()) {
  if (jobs.rankCount() == 0) return;
  firstJob_ = graph.ranks()[jobs.ranks().front()].first;
  before_.resize(graph.ranks()[jobs.ranks().back()].end - firstJob_);
  inParallel(threads, jobs.steps().size(), [&](std::size_t step) { planStep(graph, times, step); });
}

void PlannedIdle::planStep(const JobGraph& graph, const MedianDurations& times, std::size_t step) {
  constexpr std::size_t kPlan = 0;
  constexpr std::size_t kMeasured = 1;
  using Times = RunTimes<2>;
  const RunNetwork order(graph, jobs_, times, step);
  Times rerun(order);
  rerun.run([](const RunNetwork::Operation& work) {
    return Times::Row{work.ideal, work.measured};
  });
  const Times::Row length = rerun.length();
  ownLengths_[step] = static_cast<Nanoseconds>(length[kMeasured]);
  RunNetwork::Index index = 0;
  for (std::size_t p = 0; p < jobs_.rankCount(); ++p) {
    double free = 0;
    for (const Id job : jobs_.jobs(step, p)) {
      const double end = rerun.end(index)[kPlan];
      before_[job - firstJob_] =
          static_cast<Nanoseconds>(end - order.operations()[index].ideal - free);
      free = end;
      ++index;
    }
    const bool runs = !jobs_.jobs(step, p).empty();
    after_[step * jobs_.rankCount() + p] =
        runs ? static_cast<Nanoseconds>(length[kPlan] - free) : 0;
  }
}

Nanoseconds PlannedIdle::after(std::int32_t step, std::size_t position) const {
  const std::size_t index = jobs_.indexOf(step);
  if (index == jobs_.steps().size() || jobs_.steps()[index] != step) return 0;
  return after_[index * jobs_.rankCount() + position];
}

}  // namespace pipetrace
