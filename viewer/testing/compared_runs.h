#pragma once

#include <memory>
#include <string>
#include <utility>

#include "analysis/run_summary.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "trace/log/write_job_logs.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// A simulated run to compare another one with.
struct SimulatedRun {
  std::string schedule = "1F1B";
  int ranks = 4;
  int microBatches = 8;
  int chunks = 1;
  int steps = 3;
  double backwardOfStage2 = 1;  ///< a factor
  Faults faults = {};
  int lacksRank = -1;  ///< there is no log of it

  Timeline timeline() const {
    const CheckedPlan plan(buildSchedule(schedule, {ranks, microBatches, chunks}));
    Costs costs = Costs::equal(ranks * chunks, {.forward = 10 * kNsPerMs,
                                                .backward = 20 * kNsPerMs,
                                                .backwardInput = 10 * kNsPerMs,
                                                .backwardWeight = 10 * kNsPerMs});
    costs.transfer = kNsPerMs;
    costs.optimizer = 2 * kNsPerMs;
    costs.faults = faults;
    if (costs.stages.size() > 2) {
      Nanoseconds& slow = costs.stages[2].backward;
      slow = static_cast<Nanoseconds>(static_cast<double>(slow) * backwardOfStage2);
    }
    Timeline timeline = simulate(plan, costs, {.steps = steps, .begin = kNsPerMs}).timeline;
    std::erase_if(timeline.tracks, [&](const Track& track) { return track.rank == lacksRank; });
    timeline.ranks.erase(lacksRank);
    return timeline;
  }

  void writeTo(const std::string& folder) const { writeJobLogs(timeline(), folder); }

  /// With all its bubbles.
  std::shared_ptr<const LoadedProfile> profile(const std::string& name) const {
    Timeline completed = timeline();
    Diagnostics diagnostics;
    completeTimeline(completed, diagnostics);
    auto profile =
        std::make_shared<LoadedProfile>(name, Run(std::move(completed)), std::move(diagnostics));
    profile->add(findBubbles(*profile));
    return profile;
  }
};

}  // namespace pipetrace
