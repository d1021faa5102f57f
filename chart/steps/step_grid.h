#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The time of a rank in the windows of some steps, by its use. All parts add up to `window`.
struct StepShares {
  std::array<Nanoseconds, kJobKindCount> busy{};  ///< compute jobs by kind; of two at once, the
                                                  ///< one that began first
  ClassTimes idle{};                              ///< idle time by class; kNone where no bubble is
  Nanoseconds window = 0;

  Nanoseconds busyTime() const;
  /// window − busyTime(), as a share of the window; 0 for an empty one.
  double bubbleRatio() const;
  StepShares& operator+=(const StepShares& other);
};

/// A run as a table: a column for every step, or for several steps in a row, and a line for every
/// rank that computes. Steps of other phases than the one that counts (countedPhaseOf()) have no
/// column. The shares are exact sums over the steps' windows (StepWindow), as
/// summarize() has them.
struct StepGrid {
  struct Column {
    std::int32_t first = 0;  ///< numbers of its steps
    std::int32_t last = 0;
    int steps = 0;
    Nanoseconds longest = 0;  ///< duration of its longest step; of replicas, the longest counts
    double meanDuration = 0;  ///< nanoseconds
    std::vector<StepShares> ranks;  ///< in the order of StepGrid::ranks
    StepShares all;                 ///< of all ranks
  };

  std::vector<int> ranks;
  std::vector<Column> columns;  ///< in the order in which the steps begin
};

/// Sums up a sorted timeline, with `stepsAColumn` (at least 1) steps in each column. Takes time
/// proportional to the number of events.
StepGrid stepGridOf(const Timeline& timeline, int stepsAColumn);

}  // namespace pipetrace
