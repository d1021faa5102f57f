#pragma once

#include <utility>
#include <vector>

#include "analysis/run_summary.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/simulate.h"
#include "trace/append.h"

namespace pipetrace::test {

/// Steps of another phase, right after the end of a training step; -1: before the first.
struct OtherSteps {
  std::int32_t after = 0;
  Phase phase = Phase::kEvaluate;
  int steps = 1;
};

/// The run `training`, with forwards alone between its steps. The steps after them begin later by
/// just their time, and have higher numbers. `others`: in the order of time. The result is
/// completed.
inline Timeline withOtherSteps(const Timeline& training, const Plan& plan, Costs costs,
                               const std::vector<OtherSteps>& others) {
  costs.lr = 0;
  costs.optimizer = 0;
  Timeline run = training;
  std::int32_t added = 0;
  std::int64_t ids = 1'000'000;
  for (const OtherSteps& each : others) {
    const std::int32_t last = each.after < 0 ? -1 : each.after + added;
    Nanoseconds begin = kNsMax;
    if (last >= 0) begin = kNsMin;
    for (const Track& track : run.tracks) {
      for (const Event& event : track.events) {
        if (!isOfStep(event.kind)) continue;
        if (last < 0 && isCompute(event.kind)) begin = std::min(begin, event.begin);
        if (last >= 0 && event.step <= last) begin = std::max(begin, event.end);
      }
    }
    Timeline part = simulate(CheckedPlan(forwardPart(plan)), costs,
                             {.steps = each.steps, .begin = begin, .stepsStartTogether = true})
                        .timeline;
    const Nanoseconds length = stepWindows(part).back().end - begin;
    for (Track& track : run.tracks) {
      for (Event& event : track.events) {
        if (event.step <= last) continue;
        event.begin += length;
        event.end += length;
        event.step += each.steps;
      }
    }
    for (Track& track : part.tracks) {
      for (Event& event : track.events) {
        event.step += last + 1;
        event.phase = each.phase;
        if (event.job != kNotGiven) event.job += ids;
      }
    }
    append(std::move(part), run);
    run.sort();
    added += each.steps;
    ids += 1'000'000;
  }
  Diagnostics diagnostics;
  completeTimeline(run, diagnostics);
  return run;
}

}  // namespace pipetrace::test
