#pragma once

#include <cstdint>
#include <vector>

#include "schedule/costs.h"
#include "schedule/schedule.h"
#include "schedule/simulation.h"

namespace pipetrace {

/// What a plan comes to, simulated: the same numbers as those of a run (docs/metrics.md), and what
/// only a plan knows.
struct PlanFigures {
  struct Rank {
    Nanoseconds busy = 0;
    Nanoseconds idle = 0;
    double bubbleRatio = 0;
    int peakActivations = 0;      ///< from F until B or W
    std::int64_t peakMemory = 0;  ///< in the units of Costs
    int weightVersions = 1;       ///< the most of any of its stages
  };

  Nanoseconds length = 0;  ///< of all steps
  double bubbleRatio = 0;
  double spanBubble = 0;  ///< of the first step
  std::vector<Rank> ranks;
};

/// `simulation` must be that of the schedule with these costs, its timeline without bubbles.
PlanFigures planFigures(const Schedule& schedule, const Costs& costs, const Simulation& simulation);

}  // namespace pipetrace
