#pragma once

#include "trace/diagnostic.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// Warns of steps in which a rank has fewer compute jobs or optimizers than its other steps have,
/// once for all steps in which the same rank is the first to lack some, and at most five times.
/// Other steps have n of them when the median over all steps (the upper one of an even count) is n
/// and at least half of the other steps have just that many: the steps of a run that varies them
/// are not compared. Needs the steps that completeTimeline() gives. On so many threads.
void findIncompleteSteps(const Timeline& timeline, const Topology& topology, int threads,
                         Diagnostics& diagnostics);

}  // namespace pipetrace
