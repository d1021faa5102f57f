#pragma once

#include <cstdint>
#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/costs.h"

namespace pipetrace {

/// The times of each action of a plan and the memory of each rank, in one step that all ranks start
/// at time 0. This is simulate() without the Timeline, for comparing many plans.
struct DryRun {
  struct Rank {
    std::vector<Nanoseconds> begin;  ///< by cell
    std::vector<Nanoseconds> end;
    Nanoseconds busy = 0;         ///< its compute jobs
    Nanoseconds first = 0;        ///< start of its first compute job
    Nanoseconds last = 0;         ///< end of its last compute job
    int peakLive = 0;             ///< most activations at once: from F until B or W
    std::int64_t peakMemory = 0;  ///< in the units of Costs: weights and activations
  };
  std::vector<Rank> ranks;
  Nanoseconds length = 0;  ///< the last end of any job

  /// (longest rank's last end - its first begin - its work) / that span, the Zero Bubble paper's
  /// bubble rate: of the rank whose span is longest.
  double spanBubble() const;
};

/// Throws Error for costs of fewer stages than the plan has. Linear in the number of actions.
DryRun dryRun(const CheckedPlan& plan, const Costs& costs);

/// As dryRun(), for a builder that compares plans of its own making, which are right but for their
/// order; without transfers. It leaves out the check, which takes longer than the run. Throws Error
/// also for a plan with work that is missing, or that stops.
DryRun dryRunOfCandidate(const Plan& plan, const Costs& costs);

}  // namespace pipetrace
