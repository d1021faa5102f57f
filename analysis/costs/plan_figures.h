#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schedule/closed_form.h"
#include "schedule/costs.h"
#include "schedule/simulate/simulate.h"

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
    int weightDistance = 0;       ///< updates by which a gradient is out of date, likewise
  };

  Nanoseconds length = 0;  ///< of all steps
  double bubbleRatio = 0;
  double spanBubble = 0;  ///< of the first step
  std::vector<Rank> ranks;
  CriticalPath criticalPath;             ///< of the last step
  std::optional<ClosedForm> closedForm;  ///< what theory says of a step, where it says something
};

/// Of what simulate() made of `plan`; its timeline must be without bubbles. The closed form is
/// left out.
PlanFigures planFigures(const Plan& plan, const Simulation& simulation);

/// The closed form of a schedule by name, as far as its costs are those that there is one for:
/// equal stages, free transfers, no lr and no optimizer.
std::optional<ClosedForm> closedFormOf(std::string_view name, const PlanSize& size,
                                       const Costs& costs);

}  // namespace pipetrace
