#pragma once

#include <vector>

#include "analysis/run/run.h"
#include "analysis/run/steps/counted_steps.h"

namespace pipetrace {

/// The optimizer of a rank that takes longer than those of the other ranks of its pipeline, so that
/// these wait for the rank in the step after it.
struct SlowOptimizer {
  int rank = -1;           ///< its number
  Nanoseconds length = 0;  ///< of its optimizer jobs of a step together, the median
  Nanoseconds others = 0;  ///< the same of the other ranks: the longest of theirs
  Nanoseconds time = 0;    ///< for which other ranks waited for it, in the steps that count
  std::vector<BubbleOfRank> bubbles;  ///< in which they did
};

/// An optimizer that takes as many times as long as the longest of the others is slow.
inline constexpr double kSlowOptimizer = 1.5;

/// At most one of each pipeline, the most expensive first; none that nobody waits for. Valid as
/// long as the run.
std::vector<SlowOptimizer> slowOptimizersOf(const Run& run, const CountedSteps& counted);

}  // namespace pipetrace
