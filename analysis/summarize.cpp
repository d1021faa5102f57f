#include <algorithm>
#include <map>

#include "analysis/busy_intervals.h"
#include "analysis/run_summary.h"
#include "analysis/topology.h"

namespace pipetrace {
namespace {

/// Of doubles: times ranks, a window that begins at a clock's zero does not fit 64 bits.
double ratio(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

double ratio(Nanoseconds part, Nanoseconds whole) {
  return ratio(static_cast<double>(part), static_cast<double>(whole));
}

/// What one rank did in one step.
struct RankJobs {
  Interval span{kNsMax, kNsMin};  // of its compute jobs
  std::vector<Interval> jobs;
};

/// What all ranks of a pipeline did in one step.
struct StepJobs {
  Interval span{kNsMax, kNsMin};  // first compute start, last compute or optimizer end
  std::map<int, RankJobs> ranks;
};

void extend(Interval& span, const Event& event) {
  span.begin = std::min(span.begin, event.begin);
  span.end = std::max(span.end, event.end);
}

void collect(const Track& track, std::map<std::int32_t, StepJobs>& steps) {
  StepJobs* step = nullptr;
  RankJobs* rank = nullptr;  // in that step, once it has a compute job there
  std::int32_t number = kNotGiven;
  for (const Event& event : track.events) {
    const bool compute = isCompute(event.kind);
    if (!compute && event.kind != JobKind::kOptimizer) continue;
    if (step == nullptr || number != event.step) {
      number = event.step;
      step = &steps[number];
      rank = nullptr;
    }
    if (!compute) {
      step->span.end = std::max(step->span.end, event.end);
      continue;
    }
    extend(step->span, event);
    if (rank == nullptr) rank = &step->ranks[track.rank];
    extend(rank->span, event);
    rank->jobs.push_back({event.begin, event.end});
  }
}

/// The bubble of the rank whose own span is the longest.
double spanBubble(StepJobs& step) {
  Interval longest;
  Nanoseconds work = 0;
  for (auto& [rank, jobs] : step.ranks) {
    if (jobs.span.length() <= longest.length()) continue;
    longest = jobs.span;
    unite(jobs.jobs);
    work = busyIn(jobs.jobs, longest);
  }
  return ratio(longest.length() - work, longest.length());
}

/// Cuts each window where the step that begins next begins.
void cutWindows(std::vector<StepSummary>& steps) {
  std::vector<StepSummary*> byBegin;
  byBegin.reserve(steps.size());
  for (StepSummary& step : steps) byBegin.push_back(&step);
  std::stable_sort(byBegin.begin(), byBegin.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  for (std::size_t i = 0; i < byBegin.size(); ++i) {
    StepSummary& step = *byBegin[i];
    step.windowEnd = step.end;
    if (i + 1 == byBegin.size()) break;
    const Nanoseconds next = byBegin[i + 1]->begin;
    step.windowEnd = std::min(step.end, next);
    step.betweenSteps = next - step.windowEnd;
  }
}

void fillRanks(StepSummary& step, const std::vector<int>& ranks,
               const std::map<int, std::vector<Interval>>& busy) {
  const Interval window{step.begin, step.windowEnd};
  double idle = 0;
  for (const int rank : ranks) {
    RankStep share{.rank = rank, .busy = busyIn(busy.at(rank), window)};
    share.idle = window.length() - share.busy;
    idle += static_cast<double>(share.idle);
    step.ranks.push_back(share);
  }
  step.bubbleRatio =
      ratio(idle, static_cast<double>(window.length()) * static_cast<double>(ranks.size()));
}

std::vector<StepSummary> stepsOf(const Timeline& timeline, int replica,
                                 const std::vector<int>& ranks) {
  std::map<std::int32_t, StepJobs> jobs;
  std::map<int, std::vector<Interval>> busy;
  for (const int rank : ranks) busy[rank] = busyIntervals(timeline, rank);
  for (const Track& track : timeline.tracks) {
    if (busy.contains(track.rank)) collect(track, jobs);
  }
  std::vector<StepSummary> steps;
  for (auto& [number, step] : jobs) {
    if (step.ranks.empty()) continue;
    steps.push_back({.step = number,
                     .replica = replica,
                     .begin = step.span.begin,
                     .end = step.span.end,
                     .spanBubble = spanBubble(step)});
  }
  cutWindows(steps);
  for (StepSummary& step : steps) fillRanks(step, ranks, busy);
  return steps;
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

RunSummary summarize(const Timeline& timeline) {
  RunSummary summary;
  const Topology topology = topologyOf(timeline);
  summary.topologyInferred = topology.inferred;
  for (const auto& [replica, ranks] : topology.replicas()) {
    for (StepSummary& step : stepsOf(timeline, replica, ranks)) {
      summary.steps.push_back(std::move(step));
    }
  }
  addRanks(summary, topology);
  return summary;
}

}  // namespace pipetrace
