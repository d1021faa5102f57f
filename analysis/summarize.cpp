#include <algorithm>
#include <atomic>
#include <map>
#include <span>

#include "analysis/ratio.h"
#include "analysis/run/steps/busy_time.h"
#include "analysis/run_summary.h"
#include "trace/per_step.h"
#include "trace/threads/in_parallel.h"
#include "trace/threads/turns.h"

namespace pipetrace {
namespace {

/// The work of one rank in one step.
struct RankWork {
  Interval span{kNsMax, kNsMin};  // of its compute jobs
  Nanoseconds work = 0;           // length of their union
  Nanoseconds busyUpTo = kNsMin;
  StepTimes times;
};

/// The work of all ranks of a pipeline in one step.
struct StepWork {
  StepTimes times;
  Nanoseconds longest = 0;     // longest span of a rank
  Nanoseconds workOfThat = 0;  // work of the first rank with the longest span
};

/// Adds a compute job. Jobs must come in the order of their begins.
void addCompute(RankWork& rank, const Event& job) {
  rank.span.begin = std::min(rank.span.begin, job.begin);
  rank.span.end = std::max(rank.span.end, job.end);
  const Nanoseconds from = std::max(job.begin, rank.busyUpTo);
  if (job.end <= from) return;
  rank.work += job.end - from;
  rank.busyUpTo = job.end;
}

/// The steps of a rank, or of a pipeline: those of the phase that counts, and all others.
template <typename Work>
struct Steps {
  PerStep<Work> counted;
  std::map<std::pair<Phase, std::int32_t>, StepTimes> others;
};

Steps<RankWork> workOf(const Timeline& timeline, int rank, Phase phase) {
  Steps<RankWork> steps;
  RankJobs jobs(timeline, rank, isOfStep);
  while (const Event* const job = jobs.next()) {
    if (job->phase != phase) {
      if (job->step != kNotGiven) steps.others[{job->phase, job->step}].add(*job);
      continue;
    }
    RankWork& work = steps.counted[job->step];
    work.times.add(*job);
    if (isCompute(job->kind)) addCompute(work, *job);
  }
  return steps;
}

void add(StepWork& step, const RankWork& rank) {
  step.times.add(rank.times);
  if (!rank.times.hasCompute || rank.span.length() <= step.longest) return;
  step.longest = rank.span.length();
  step.workOfThat = rank.work;
}

/// The work in each step, over all ranks of a pipeline.
Steps<StepWork> workOf(const Timeline& timeline, const std::vector<int>& ranks, Phase phase,
                       int threads) {
  Steps<StepWork> steps;
  std::atomic<std::size_t> next{0};
  Turns::run(threadCount(threads), [&](Turns& turns) {
    for (std::size_t i = 0; (i = next++) < ranks.size();) {
      Steps<RankWork> ofRank = workOf(timeline, ranks[i], phase);
      const auto counted = ofRank.counted.take();
      if (!turns.await(static_cast<std::int64_t>(i))) return;
      for (const auto& [number, work] : counted) add(steps.counted[number], work);
      for (const auto& [key, times] : ofRank.others) steps.others[key].add(times);
      turns.finish();
    }
  });
  return steps;
}

void fillRanks(const std::vector<StepSummary*>& order, const Timeline& timeline,
               const std::vector<int>& ranks, int threads) {
  for (StepSummary* const step : order) step->ranks.resize(ranks.size());
  inParallel(threads, ranks.size(), [&](std::size_t r) {
    BusyTime busy(timeline, ranks[r]);
    for (StepSummary* const step : order) {
      const Nanoseconds ofStep = busy.in({step->begin, step->windowEnd});
      step->ranks[r] = {.rank = ranks[r], .busy = ofStep, .idle = step->window() - ofStep};
    }
  });
  for (StepSummary* const step : order) {
    double idle = 0;
    for (const RankStep& share : step->ranks) idle += static_cast<double>(share.idle);
    step->bubbleRatio =
        ratio(idle, static_cast<double>(step->window()) * static_cast<double>(ranks.size()));
  }
}

/// When the pipeline of that first rank is full.
FullPipelines fullPipelinesOf(const Timeline& timeline, int firstRank, Phase phase) {
  FullPipelines full;
  RankJobs jobs(timeline, firstRank, isCompute);
  while (const Event* const job = jobs.next()) {
    if (job->step != kNotGiven && job->phase == phase) full[job->step].add(*job);
  }
  return full;
}

/// Cuts the windows of one pipeline. Returns the steps that count in the order of their begins.
std::vector<StepSummary*> cutInOrder(std::span<StepSummary> steps, std::span<StepWindow> others,
                                     std::span<const Nanoseconds> partBegins) {
  std::vector<StepWindow*> all;
  std::vector<StepSummary*> order;
  all.reserve(steps.size() + others.size());
  for (StepSummary& step : steps) {
    all.push_back(&step);
    order.push_back(&step);
  }
  for (StepWindow& step : others) all.push_back(&step);
  cutWindows(all, partBegins);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  return order;
}

/// Appends the steps of one pipeline. `firstRank`: at its position 0; −1: not known.
void addSteps(RunSummary& run, const Timeline& timeline, int replica, const std::vector<int>& ranks,
              int firstRank, int threads) {
  std::vector<StepSummary>& steps = run.steps;
  const std::size_t before = steps.size();
  std::vector<StepWindow> others;
  const std::vector<Nanoseconds> partBegins = partBeginsOf(timeline);
  {
    bool isAsynchronous = false;
    Steps<StepWork> all = workOf(timeline, ranks, run.phase, threads);
    for (const auto& [key, times] : all.others) {
      if (!times.hasCompute) continue;
      others.push_back({.step = key.second,
                        .replica = replica,
                        .begin = times.begin,
                        .end = times.end,
                        .phase = key.first});
    }
    const auto work = all.counted.take();
    steps.reserve(before + work.size());
    for (const auto& [number, step] : work) {
      if (!step.times.hasCompute) continue;
      isAsynchronous = isAsynchronous || step.times.isAsynchronous;
      StepSummary& summary = steps.emplace_back();
      summary.step = number;
      summary.replica = replica;
      summary.phase = run.phase;
      summary.begin = step.times.begin;
      summary.end = step.times.end;
      summary.spanBubble = ratio(step.longest - step.workOfThat, step.longest);
    }
    if (isAsynchronous && firstRank >= 0) {
      FullPipelines full = fullPipelinesOf(timeline, firstRank, run.phase);
      joinAsynchronousSteps(steps, before, full, others, partBegins);
    }
  }
  const std::vector<StepSummary*> order =
      cutInOrder(std::span(steps).subspan(before), others, partBegins);
  fillRanks(order, timeline, ranks, threads);
  std::stable_sort(others.begin(), others.end(),
                   [](const StepWindow& a, const StepWindow& b) { return a.step < b.step; });
  run.otherSteps.insert(run.otherSteps.end(), others.begin(), others.end());
  for (StepSummary* const step : order) {
    if (!step->isWholeRun) continue;
    // The window is just the span of the first rank.
    const auto first = std::find_if(step->ranks.begin(), step->ranks.end(),
                                    [&](const RankStep& share) { return share.rank == firstRank; });
    if (first != step->ranks.end()) step->spanBubble = ratio(first->idle, step->window());
  }
}

void addRanks(RunSummary& summary, const Topology& topology) {
  std::map<int, RankSummary> ranks;
  for (const StepSummary& step : summary.steps) {
    for (const RankStep& share : step.ranks) {
      RankSummary& rank = ranks[share.rank];
      rank.busy += share.busy;
      rank.idle += share.idle;
    }
  }
  double busy = 0;
  double idle = 0;
  for (auto& [number, rank] : ranks) {
    rank.rank = number;
    rank.replica = topology.places.at(number).replica;
    rank.bubbleRatio = ratio(rank.idle, rank.busy + rank.idle);
    busy += static_cast<double>(rank.busy);
    idle += static_cast<double>(rank.idle);
    summary.ranks.push_back(rank);
  }
  summary.bubbleRatio = ratio(idle, busy + idle);
}

}  // namespace

bool RunSummary::isAsynchronous() const {
  return std::any_of(steps.begin(), steps.end(), [](const auto& step) { return step.isWholeRun; });
}

RunSummary summarize(const Timeline& timeline, const Topology& topology, int threads) {
  RunSummary summary = summarizePhase(timeline, topology, countedPhaseOf(timeline), threads);
  summary.deviceWork = deviceWorkOf(timeline);
  return summary;
}

RunSummary summarizePhase(const Timeline& timeline, const Topology& topology, Phase phase,
                          int threads) {
  RunSummary summary;
  summary.phase = phase;
  summary.topologyInferred = topology.inferred;
  summary.tensorRanks = topology.tensorRanks;
  for (const auto& [replica, ranks] : topology.replicas()) {
    const auto first = std::find_if(ranks.begin(), ranks.end(), [&](int rank) {
      return topology.places.at(rank).position == 0;
    });
    addSteps(summary, timeline, replica, ranks, first == ranks.end() ? -1 : *first, threads);
  }
  addRanks(summary, topology);
  return summary;
}

}  // namespace pipetrace
