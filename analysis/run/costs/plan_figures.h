#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schedule/closed_form.h"
#include "schedule/costs.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {

/// The figures of a simulated plan: those of a run (docs/metrics.md), and others that only a plan
/// has.
struct PlanFigures {
  struct Rank {
    Nanoseconds busy = 0;
    Nanoseconds idle = 0;
    double bubbleRatio = 0;
    int peakActivations = 0;      ///< most at a time, each from its F until its B or W
    std::int64_t peakMemory = 0;  ///< in the units of Costs
    int weightVersions = 1;       ///< the largest number among its stages
    int weightDistance = 0;       ///< most updates by which a gradient of its stages is out of date
  };

  Nanoseconds length = 0;  ///< of all steps
  /// The windows of the steps together, of which the bubble ratio is a share. Replicas count with
  /// their mean, rounded down.
  Nanoseconds windows = 0;
  double bubbleRatio = 0;
  double spanBubble = 0;  ///< of the first step
  std::vector<Rank> ranks;
  CriticalPath criticalPath;             ///< of the last step
  std::optional<ClosedForm> closedForm;  ///< of a step, where there is a formula
};

/// The figures of `simulation`, which simulate() made of `plan`. Its timeline must have no bubbles.
/// Leaves closedForm empty.
PlanFigures planFigures(const Plan& plan, const Simulation& simulation);

/// The closed form of the schedule of that name. There is one only for simple costs: equal stages,
/// free transfers, no lr and no optimizer.
std::optional<ClosedForm> closedFormOf(std::string_view name, const PlanSize& size,
                                       const Costs& costs);

}  // namespace pipetrace
