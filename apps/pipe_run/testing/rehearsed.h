#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>

#include "analysis/run_summary.h"
#include "apps/pipe_run/plan_comparison.h"
#include "apps/pipe_run/testing/job_lateness.h"
#include "parser/testing/load_timeline.h"
#include "profiler/testing/recorded_log.h"
#include "runtime/rehearse/rehearsal.h"

namespace pipetrace::testing {

/// Rehearses into a folder of its own, and reads the logs.
inline Timeline rehearsed(RehearsalOptions options) {
  RecordedLog log;
  options.logDirectory = log.folder();
  rehearse(options);
  Diagnostics diagnostics;
  Timeline timeline = test::loadTimeline({log.folder()}, {}, diagnostics);
  completeTimeline(timeline, diagnostics);
  return timeline;
}

/// Jobs of 5 ms; pairs of 10.
inline Costs equalCosts(const Plan& plan) {
  constexpr Nanoseconds kJob = 5 * kNsPerMs;
  return Costs::equal(plan.numStages, {.forward = kJob,
                                       .backward = kJob,
                                       .backwardInput = kJob,
                                       .backwardWeight = kJob,
                                       .forwardBackward = 2 * kJob});
}

/// From 4 to 7 ms by stage.
inline Costs costsByStage(const Plan& plan) {
  Costs costs = equalCosts(plan);
  for (int stage = 0; stage < plan.numStages; ++stage) {
    StageCosts& of = costs.stages[static_cast<std::size_t>(stage)];
    const Nanoseconds longer = (stage * 7 % 4 - 1) * kNsPerMs;
    of.forward += longer;
    of.backward += longer;
    of.backwardInput += longer;
    of.backwardWeight += longer;
    of.forwardBackward += 2 * longer;
  }
  return costs;
}

/// From 3 to 8 ms, drawn for each job.
inline Costs costsByJob(const Plan& plan) {
  Costs costs = equalCosts(plan);
  std::mt19937 random(7);
  for (const auto& actions : plan.ranks) {
    for (const Action& action : actions) {
      if (isTransfer(action.kind)) continue;
      const auto longer = static_cast<Nanoseconds>(random() % 5001) * kNsPerUs - 2 * kNsPerMs;
      costs.faults.jobs.push_back({.action = action, .longer = longer});
    }
  }
  return costs;
}

/// The costs with reductions of that time for all stages.
inline Costs withReductionsOf(Nanoseconds time, Costs costs) {
  for (StageCosts& stage : costs.stages) stage.reduction = time;
  return costs;
}

/// By rank: by how much the last reduction of a step ends after its last job.
inline std::map<int, Nanoseconds> exposedOf(const Timeline& timeline, int step) {
  std::map<int, Nanoseconds> exposed;
  for (const auto& [rank, info] : timeline.ranks) {
    const auto lastOf = [&](std::string_view lane) {
      Nanoseconds last = 0;
      const Track* const track = timeline.findTrack(rank, lane);
      if (track == nullptr) return last;
      for (const Event& event : track->events) {
        if (event.step == step) last = std::max(last, event.end);
      }
      return last;
    };
    exposed[rank] = std::max<Nanoseconds>(lastOf(kReductionLane) - lastOf(kComputeLane), 0);
  }
  return exposed;
}

}  // namespace pipetrace::testing
