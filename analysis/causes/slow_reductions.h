#pragma once

#include <cstdint>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "analysis/run/steps/counted_steps.h"

namespace pipetrace {

/// Sums of gradients that the ranks of a stage add up after their jobs, and that move slower than
/// those of other stages: a bad link between replicas.
///
/// A sum moves from when its last member began to its end. That time of each byte, in the median
/// over the steps that count, is compared with that of other groups of as many ranks. Where no sum
/// of these has a size (`bytes`), the whole times are: a stage may have more weights than others,
/// so that these have to differ by more, and nobody knows which it is.
struct SlowReduction {
  std::vector<int> ranks;  ///< ascending
  Nanoseconds moving = 0;  ///< the median
  double factor = 1;       ///< of a byte, over the lower median of other groups
  Nanoseconds others = 0;  ///< what it would take at their speed
  /// What it costs all ranks in these steps: its members wait for it after their last job. Others
  /// wait for these in a collective of more ranks, such as that of the gradients' norm, or for the
  /// end of the step.
  Nanoseconds time = 0;
  bool hasSizes = true;  ///< false: it may have more bytes than those of others
};

/// A sum that takes as many times as long as others is slow.
inline constexpr double kSlowReduction = 1.2;
inline constexpr double kSlowWithoutSizes = 2;

/// The slow ones, the most expensive first. Empty where no two groups can be compared. The members
/// of a group must be known: from the logs, or as replicas.
std::vector<SlowReduction> slowReductionsOf(const Timeline& timeline, const JobGraph& graph,
                                            const CountedSteps& counted);

}  // namespace pipetrace
