#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/run_summary.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace::test {

/// F 10 ms, B 20 ms or halves of 10 ms, lr 0.1 ms, optimizer 2 ms.
inline Costs costsOf(const Plan& plan, double transferMs) {
  Costs costs = Costs::equal(plan.numStages, {.forward = 10 * kNsPerMs,
                                              .backward = 20 * kNsPerMs,
                                              .backwardInput = 10 * kNsPerMs,
                                              .backwardWeight = 10 * kNsPerMs});
  costs.transfer = std::llround(transferMs * kNsPerMs);
  costs.lr = kNsPerMs / 10;
  costs.optimizer = 2 * kNsPerMs;
  return costs;
}

inline void scaleRank(Costs& costs, const Plan& plan, int rank, double factor) {
  for (const int stage : plan.stagesOfRank(rank)) {
    StageCosts& each = costs.stages[static_cast<std::size_t>(stage)];
    for (Nanoseconds* time :
         {&each.forward, &each.backward, &each.backwardInput, &each.backwardWeight}) {
      *time = std::llround(static_cast<double>(*time) * factor);
    }
  }
}

/// A completed run of the plan with these costs and their faults.
inline Timeline completedRun(const Plan& plan, const Costs& costs, int steps = 3) {
  Timeline timeline =
      simulate(CheckedPlan(plan), costs, {.steps = steps, .stepsStartTogether = true}).timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

/// 1F1B, or another schedule, on four ranks with eight micro-batches, whose jobs `faultsOf(plan)`
/// are longer or late: a list of Faults::Job.
template <typename FaultsOf>
Timeline runOfFaults(const FaultsOf& faultsOf, int steps, const char* schedule = "1F1B",
                     double transferMs = 0.1) {
  const Plan plan = buildSchedule(schedule, {4, 8});
  Costs costs = costsOf(plan, transferMs);
  costs.faults.jobs = faultsOf(plan);
  return completedRun(plan, costs, steps);
}

/// The run with the first half of each backward pass as the recomputation of its forward.
inline Timeline recomputing(Timeline run) {
  for (Track& track : run.tracks) {
    std::vector<Event> events;
    for (Event& event : track.events) {
      if (event.kind == JobKind::kBackward) {
        events.push_back(event);
        events.back().kind = JobKind::kRecompute;
        event.begin += event.duration() / 2;
        events.back().end = event.begin;
      }
      events.push_back(event);
    }
    track.events = std::move(events);
  }
  return run;
}

/// The run with a pause of a second before step 3, and with messages to rank 3 that are received
/// 30 ms too early.
inline Timeline withPauseAndEarlyMessages(Timeline run) {
  Nanoseconds later = kNsMax;
  for (const Track& track : run.tracks) {
    for (const Event& event : track.events) {
      if (event.step == 3) later = std::min(later, event.begin);
    }
  }
  for (Track& track : run.tracks) {
    for (Event& event : track.events) {
      const Nanoseconds shift =
          (event.begin >= later ? kNsPerSecond : 0) - (track.rank == 3 ? 30 * kNsPerMs : 0);
      event.begin += shift;
      event.end += shift;
    }
  }
  run.sort();
  return run;
}

/// The run, and the same once more as a second pipeline.
inline Timeline twice(Timeline run) {
  const std::size_t tracks = run.tracks.size();
  const int ranks = static_cast<int>(run.ranks.size());
  for (std::size_t t = 0; t < tracks; ++t) {
    Track second = run.tracks[t];
    second.rank += ranks;
    run.tracks.push_back(std::move(second));
  }
  for (int rank = 0; rank < 2 * ranks; ++rank) {
    RankInfo info = run.ranks[rank % ranks];
    info.dataParallelIndex = rank / ranks;
    run.ranks[rank] = std::move(info);
  }
  return run;
}

}  // namespace pipetrace::test
