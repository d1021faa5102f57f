#pragma once

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Moves the times of every rank into rank 0's clock by what the rank's log says of the two
/// (RankInfo::clockReadings, RankClock). The readings of a rank that was moved then say that it is
/// in rank 0's clock, to within the same bound: aligning twice is aligning once.
///
/// Ranks without readings stay as they are; where others have some, that is told in `diagnostics`,
/// and so are readings that cannot be true (rank 0's own with an offset among them) and what was
/// moved. The timeline that comes back is sorted.
Timeline alignedByLog(Timeline timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
