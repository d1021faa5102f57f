#pragma once

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Converts the times of every rank to rank 0's clock, by the comparisons of the two clocks in the
/// rank's log (RankInfo::clockReadings, RankClock). The readings of a converted rank then have an
/// offset of 0 and the same bound, so aligning twice changes nothing more.
///
/// Ranks of one host get the most exact clock of theirs, and on rank 0's host that of rank 0. A
/// rank whose own readings do not agree with it, within the bounds of both, keeps its own.
///
/// The times of ranks without readings stay as they are. `diagnostics` reports such ranks where
/// others have readings, readings that cannot be true (among them an offset in rank 0's own log),
/// and the ranks that were converted. The returned timeline is sorted.
Timeline alignedByLog(Timeline timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
