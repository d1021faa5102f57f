#include <algorithm>
#include <atomic>
#include <map>
#include <span>

#include "analysis/ratio.h"
#include "analysis/run_summary.h"
#include "analysis/steps/busy_time.h"
#include "trace/per_step.h"
#include "trace/threads/in_parallel.h"
#include "trace/threads/turns.h"
#include "trace/topology.h"

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

std::vector<PerStep<RankWork>::Entry> workOf(const Timeline& timeline, int rank) {
  PerStep<RankWork> steps;
  RankJobs jobs(timeline, rank, isOfStep);
  while (const Event* const job = jobs.next()) {
    RankWork& work = steps[job->step];
    work.times.add(*job);
    if (isCompute(job->kind)) addCompute(work, *job);
  }
  return steps.take();
}

void add(StepWork& step, const RankWork& rank) {
  step.times.add(rank.times);
  if (!rank.times.hasCompute || rank.span.length() <= step.longest) return;
  step.longest = rank.span.length();
  step.workOfThat = rank.work;
}

/// The work in each step, over all ranks of a pipeline.
std::vector<PerStep<StepWork>::Entry> workOf(const Timeline& timeline,
                                             const std::vector<int>& ranks, int threads) {
  PerStep<StepWork> steps;
  std::atomic<std::size_t> next{0};
  Turns::run(threadCount(threads), [&](Turns& turns) {
    for (std::size_t i = 0; (i = next++) < ranks.size();) {
      const auto ofRank = workOf(timeline, ranks[i]);
      if (!turns.await(static_cast<std::int64_t>(i))) return;
      for (const auto& [number, work] : ofRank) add(steps[number], work);
      turns.finish();
    }
  });
  return steps.take();
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

/// Appends the steps of one pipeline.
void addSteps(std::vector<StepSummary>& steps, const Timeline& timeline, int replica,
              const std::vector<int>& ranks, int threads) {
  const std::size_t before = steps.size();
  {
    const auto work = workOf(timeline, ranks, threads);
    steps.reserve(before + work.size());
    for (const auto& [number, step] : work) {
      if (!step.times.hasCompute) continue;
      StepSummary& summary = steps.emplace_back();
      summary.step = number;
      summary.replica = replica;
      summary.begin = step.times.begin;
      summary.end = step.times.end;
      summary.spanBubble = ratio(step.longest - step.workOfThat, step.longest);
    }
  }
  const std::vector<StepSummary*> order =
      cutWindows(std::span(steps).subspan(before), partBeginsOf(timeline));
  fillRanks(order, timeline, ranks, threads);
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

RunSummary summarize(const Timeline& timeline, int threads) {
  RunSummary summary;
  const Topology topology = topologyOf(timeline, threads);
  summary.topologyInferred = topology.inferred;
  summary.tensorRanks = topology.tensorRanks;
  for (const auto& [replica, ranks] : topology.replicas()) {
    addSteps(summary.steps, timeline, replica, ranks, threads);
  }
  addRanks(summary, topology);
  summary.deviceWork = deviceWorkOf(timeline);
  return summary;
}

}  // namespace pipetrace
