#pragma once

#include <cstdint>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// The median of counts (of an even number of them the upper one), if at least half of the others
/// are just that; else 0. Reorders them.
std::int64_t usualCount(std::vector<std::int64_t>& counts);

/// Warns of steps in which a rank has fewer compute jobs or optimizers than usual. Steps in which
/// the same rank is the first to lack some share one warning; there are at most five warnings.
///
/// The usual number is the median over all steps (of an even count the upper one). At least half of
/// the other steps must have exactly that number; else the run varies its steps, and they are not
/// compared. Only steps of the phase that counts are (countedPhaseOf()): an evaluation may end with
/// a smaller batch. Needs the steps that completeTimeline() gives. Uses that many threads.
void findIncompleteSteps(const Timeline& timeline, const Topology& topology, int threads,
                         Diagnostics& diagnostics);

/// The steps that findIncompleteSteps() warns of, ascending.
std::vector<std::int32_t> incompleteSteps(const Timeline& timeline, const Topology& topology,
                                          int threads = 1);

}  // namespace pipetrace
