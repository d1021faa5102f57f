#pragma once

#include <memory>
#include <string>

#include "analysis/run_summary.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// A simulated run of four stages, of which stage 1 is slow, and the one from rank 2 to rank 3 is a
/// slow link. It has its bubbles.
inline std::shared_ptr<const LoadedProfile> askedRun(const char* schedule = "1F1B", int steps = 5,
                                                     int microBatches = 8) {
  Costs costs;
  for (const Nanoseconds forward : {1'000'000, 1'500'000, 900'000, 1'100'000}) {
    costs.stages.push_back({.forward = forward, .backward = 2 * forward});
  }
  costs.transfer = 100'000;
  costs.optimizer = 500'000;
  costs.faults.links.push_back({2, 3, 900'000});
  Timeline timeline = simulate(CheckedPlan(buildSchedule(schedule, 4, microBatches)), costs,
                               {.steps = steps, .begin = 1'000'000, .stepsStartTogether = true})
                          .timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  auto profile =
      std::make_shared<LoadedProfile>("asked", Run(std::move(timeline)), std::move(diagnostics));
  profile->add(findBubbles(*profile));
  return profile;
}

}  // namespace pipetrace
