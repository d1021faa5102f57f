#pragma once

#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// An action that stands elsewhere on its rank than planned. Positions count from 0.
struct PlanDeviation {
  int rank = 0;
  Action action;
  int planned = -1;   ///< its position in the reference; -1: it is not there
  int measured = -1;  ///< its position in the measured plan; -1: it is not there

  bool operator==(const PlanDeviation&) const = default;
};

/// Where a measured plan differs from a reference.
struct PlanDeviations {
  /// The fewest actions that, put elsewhere on their ranks, give the reference's order; by rank and
  /// measured position. Those between are shifted and not listed.
  std::vector<PlanDeviation> moved;
  std::vector<PlanDeviation> missing;  ///< of the reference only; by rank and planned position
  std::vector<PlanDeviation> extra;    ///< of the measured plan only, second times of one included

  bool isEmpty() const { return moved.empty() && missing.empty() && extra.empty(); }
};

/// Compares the rows of actions, rank by rank. A measured row without actions is that of a rank
/// without a log; it is not compared. Which of two actions that changed places with each other the
/// list names is open if they were neighbours, as moving either is enough. O(n log n) on the part
/// of a row that differs.
PlanDeviations findDeviations(const Plan& measured, const Plan& reference);

}  // namespace pipetrace
