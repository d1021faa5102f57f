#include "analysis/run/bubbles/run_basis.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/run/plans/measured_plan.h"
#include "analysis/run/plans/recognise_schedule.h"
#include "analysis/run/steps/incomplete_steps.h"
#include "analysis/run/waits/run_network.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"
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
      const bool isSooner = window.firstCompute == JobGraph::kNone ||
                            graph.node(id).begin < graph.node(window.firstCompute).begin;
      if (isSooner) window.firstCompute = id;
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

/// Sets when the pipeline of a path's job could have begun its step, which `opening` did.
void setOpening(const JobGraph& graph, const BindingPaths& paths, Id opening, WaitPath& path) {
  if (opening == JobGraph::kNone) return;
  // What it loads before does not keep it from beginning: that is late by it.
  const JobGraph::Rank& rank = graph.ranks()[graph.node(opening).rank];
  Id first = opening;
  while (first > rank.first &&
         (loadsData(graph.node(first - 1).kind) || graph.node(first - 1).kind == JobKind::kLr)) {
    --first;
  }
  const Id before = paths.waitedFor(first);
  path.opening = opening;
  if (before != JobGraph::kNone) {
    path.couldOpen = graph.node(before).end;
    path.updates.add(BubbleClass::kSync, paths.longerThanUsual(before), before);
  }
  path.loads = paths.loadsBefore(opening);
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

// The schedule's own idle time where ranks are missing: that of the schedule which the other ranks
// followed.

/// A compute job of a rank: its kind, stage and micro-batch.
using PlannedJob = std::tuple<JobKind, std::int32_t, std::int32_t>;

/// The idle time of a rank in a plan.
struct PlannedRank {
  std::map<PlannedJob, Nanoseconds> before;
  Nanoseconds after = 0;
};

/// Makes the plan of one pipeline that lacks ranks.
class MissingRanksPlan {
 public:
  MissingRanksPlan(const JobGraph& graph, const MedianDurations& times, PipelineBasis& pipeline)
      : graph_(graph), jobs_(pipeline.jobs), times_(times), pipeline_(pipeline) {}

  /// Leaves the pipeline as it is where no schedule is known to give its order.
  void give(const Timeline& timeline, const Topology& topology) {
    const BubbleWindow* whole = nullptr;
    for (const BubbleWindow& window : pipeline_.windows) {
      if (window.isWhole && window.lacksRanks) whole = &window;
    }
    if (whole == nullptr) return;
    const MeasuredPlan measured = measuredPlan(timeline, topology, pipeline_.replica, whole->step);
    if (!measured.exists() || !hasRowOfEachRank(measured, whole->index)) return;
    if (recomputes_ && !allRecompute(whole->index)) return;
    const RecognisedSchedule schedule = recogniseSchedule(measured.plan);
    if (schedule.names.empty() || !simulateWithUsualTimes(schedule.plan, measured)) return;
    // The jobs of the step stand for those of all steps.
    std::vector<PlannedRank> ranks(jobs_.rankCount());
    const std::map<Id, std::int32_t> microBatches = microBatchesOf(whole->index);
    for (std::size_t p = 0; p < ranks.size(); ++p) {
      const std::vector<Id> ofStep = plannedJobs(whole->index, p);
      const PlannedRank& planned = planned_[rows_[p]];
      ranks[p].after = planned.after;
      for (std::size_t i = 0; i < ofStep.size(); ++i) {
        const Action& action = measured.plan.ranks[rows_[p]][i];
        const auto found = planned.before.find({action.kind, action.stage, action.microBatch});
        ranks[p].before[keyOf(ofStep[i], microBatches)] =
            found == planned.before.end() ? 0 : found->second;
      }
    }
    for (BubbleWindow& window : pipeline_.windows) giveWindow(window, ranks);
  }

 private:
  /// Finds the rows of the plan that are those of the pipeline's ranks, and have as many jobs.
  bool hasRowOfEachRank(const MeasuredPlan& measured, std::size_t step) {
    for (std::size_t p = 0; p < jobs_.rankCount(); ++p) {
      const auto row = std::find(measured.rankNumbers.begin(), measured.rankNumbers.end(),
                                 graph_.ranks()[jobs_.ranks()[p]].number);
      if (row == measured.rankNumbers.end()) return false;
      rows_.push_back(static_cast<std::size_t>(row - measured.rankNumbers.begin()));
      if (measured.plan.ranks[rows_.back()].size() != plannedJobs(step, p).size()) return false;
      recomputes_ = recomputes_ || plannedJobs(step, p).size() < jobs_.jobs(step, p).size();
    }
    return measured.rankNumbers.size() > rows_.size();
  }

  bool isRecomputation(Id job) const { return graph_.node(job).kind == JobKind::kRecompute; }

  /// The jobs of a rank that are in plans: a recomputation is part of its backward pass.
  std::vector<Id> plannedJobs(std::size_t step, std::size_t position) const {
    std::vector<Id> planned;
    for (const Id id : jobs_.jobs(step, position)) {
      if (!isRecomputation(id)) planned.push_back(id);
    }
    return planned;
  }

  /// Whether each backward pass, or input half, comes right after its own recomputation, which
  /// waits for what it waits for.
  bool allRecompute(std::size_t step) const {
    for (std::size_t p = 0; p < jobs_.rankCount(); ++p) {
      Id previous = JobGraph::kNone;
      for (const Id id : jobs_.jobs(step, p)) {
        const JobGraph::Node& job = graph_.node(id);
        const bool isOwn = previous != JobGraph::kNone && isRecomputation(previous) &&
                           graph_.node(previous).stage == job.stage &&
                           graph_.node(previous).microBatch == job.microBatch &&
                           std::equal(job.inputs, job.inputs + 2, graph_.node(previous).inputs);
        const bool recomputes =
            job.kind == JobKind::kBackward || job.kind == JobKind::kBackwardInput;
        if (!isRecomputation(id) && isOwn != recomputes) return false;
        previous = id;
      }
    }
    return true;
  }

  /// The length of a kind in the plan of docs/metrics.md, on a stage that one rank has; 0: the run
  /// has none.
  Nanoseconds usual(JobKind kind) const {
    for (const std::uint32_t r : jobs_.ranks()) {
      for (Id id = graph_.ranks()[r].first; id < graph_.ranks()[r].end; ++id) {
        const JobGraph::Node& job = graph_.node(id);
        if (job.kind == kind) return times_.balanced(id) / graph_.turnsOf(job.stage);
      }
    }
    return 0;
  }

  /// Sets planned_. Returns false where a kind of job has no length.
  bool simulateWithUsualTimes(const Plan& plan, const MeasuredPlan& measured) {
    StageCosts costs{.forward = usual(JobKind::kForward),
                     .backward = usual(JobKind::kBackward),
                     .backwardInput = usual(JobKind::kBackwardInput),
                     .backwardWeight = usual(JobKind::kBackwardWeight)};
    if (recomputes_) {
      costs.backward += usual(JobKind::kRecompute);
      costs.backwardInput += usual(JobKind::kRecompute);
    }
    if (usual(JobKind::kBackward) == 0) costs.backward = costs.backwardInput + costs.backwardWeight;
    if (const Nanoseconds pair = usual(JobKind::kForwardBackward); pair > 0) {
      costs.forwardBackward = pair;
    }
    Costs ofStages = Costs::equal(plan.numStages, costs);
    for (int stage = 0; stage < plan.numStages; ++stage) {
      StageCosts& of = ofStages.stages[static_cast<std::size_t>(stage)];
      const int turns = graph_.turnsOf(stage);
      for (Nanoseconds* const time : {&of.forward, &of.backward, &of.backwardInput,
                                      &of.backwardWeight, &of.forwardBackward}) {
        if (*time > 0) *time *= turns;
      }
    }
    const Timeline run = simulate(CheckedPlan(plan), ofStages).timeline;
    planned_.resize(plan.ranks.size());
    std::vector<Nanoseconds> ends(plan.ranks.size(), kNsMin);
    Nanoseconds begin = kNsMax;
    Nanoseconds end = 0;
    // Windows begin and end with the jobs of the ranks that are there.
    forEachJob(run, [&](std::size_t row, const Event& job) {
      if (measured.rankNumbers[row] < 0) return;
      begin = std::min(begin, job.begin);
      end = std::max(end, job.end);
    });
    bool hasLengths = true;
    forEachJob(run, [&](std::size_t row, const Event& job) {
      hasLengths = hasLengths && job.end > job.begin;
      const Nanoseconds free = ends[row] == kNsMin ? begin : ends[row];
      planned_[row].before[{job.kind, job.stage, job.microBatch}] = job.begin - free;
      ends[row] = job.end;
      planned_[row].after = end - job.end;
    });
    return hasLengths;
  }

  template <typename Visit>
  static void forEachJob(const Timeline& run, const Visit& visit) {
    for (const Track& track : run.tracks) {
      for (const Event& event : track.events) {
        if (isCompute(event.kind)) visit(static_cast<std::size_t>(track.rank), event);
      }
    }
  }

  /// The micro-batches of a step's jobs, numbered from 0 in their order.
  std::map<Id, std::int32_t> microBatchesOf(std::size_t step) const {
    std::map<std::int32_t, std::int32_t> numbers;
    for (const Id id : jobs_.jobs(step)) numbers[graph_.node(id).microBatch];
    std::int32_t next = 0;
    for (auto& [microBatch, number] : numbers) number = next++;
    std::map<Id, std::int32_t> result;
    for (const Id id : jobs_.jobs(step)) result[id] = numbers.at(graph_.node(id).microBatch);
    return result;
  }

  PlannedJob keyOf(Id id, const std::map<Id, std::int32_t>& microBatches) const {
    const JobGraph::Node& node = graph_.node(id);
    return {node.kind, node.stage, microBatches.at(id)};
  }

  void giveWindow(BubbleWindow& window, const std::vector<PlannedRank>& ranks) {
    if (!window.isWhole || !window.lacksRanks) return;
    const std::map<Id, std::int32_t> microBatches = microBatchesOf(window.index);
    for (std::size_t p = 0; p < ranks.size(); ++p) {
      const auto ofStep = jobs_.jobs(window.index, p);
      for (std::size_t i = 0; i < ofStep.size(); ++i) {
        // The idle time before a backward pass is before its recomputation.
        const bool hasRecomputed = i > 0 && isRecomputation(ofStep[i - 1]);
        const bool recomputes = isRecomputation(ofStep[i]) && i + 1 < ofStep.size();
        const auto found =
            ranks[p].before.find(keyOf(ofStep[recomputes ? i + 1 : i], microBatches));
        const bool isIdle = found != ranks[p].before.end() && !hasRecomputed;
        pipeline_.planned->setBefore(ofStep[i], isIdle ? found->second : 0);
      }
      pipeline_.planned->setAfter(window.index, p, ranks[p].after);
    }
    window.hasPlan = true;
  }

  const JobGraph& graph_;
  const StepJobs& jobs_;
  const MedianDurations& times_;
  PipelineBasis& pipeline_;
  bool recomputes_ = false;
  std::vector<std::size_t> rows_;     // of the plan, by rank of the pipeline
  std::vector<PlannedRank> planned_;  // by row
};

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
    }
  }
  addWaitPaths();
}

void RunBasis::addWaitPaths() {
  std::map<std::pair<int, std::int32_t>, Id> openings;  // by replica and step
  for (const PipelineBasis& pipeline : pipelines_) {
    for (const BubbleWindow& window : pipeline.windows) {
      openings[{pipeline.replica, window.step}] = window.firstCompute;
    }
  }
  const auto add = [&](Id job) {
    if (job == JobGraph::kNone || waitPaths_.contains(job)) return;
    WaitPath& path = waitPaths_.emplace(job, waitPathOf(graph_, paths_, job)).first->second;
    const JobGraph::Node& node = graph_.node(job);
    const auto opening = openings.find({graph_.ranks()[node.rank].replica, node.step});
    if (opening != openings.end()) setOpening(graph_, paths_, opening->second, path);
  };
  for (const PipelineBasis& pipeline : pipelines_) {
    for (const BubbleWindow& window : pipeline.windows) {
      if (window.tail.wait.cause == JobGraph::kNone) continue;
      add(window.tail.wait.cause);
      add(window.lastCompute);
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
  const RunNetwork network(graph, jobs_, times, step);
  Times rerun(network);
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
          static_cast<Nanoseconds>(end - network.operations()[index].ideal - free);
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

void RunBasis::planMissingRanks(const Timeline& timeline, const Topology& topology, int threads) {
  inParallel(threads, pipelines_.size(), [&](std::size_t p) {
    try {
      MissingRanksPlan(graph_, times_, pipelines_[p]).give(timeline, topology);
    } catch (const Error&) {
      // The schedule gives no plan that runs.
    }
  });
}

}  // namespace pipetrace
