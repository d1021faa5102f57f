#pragma once

#include <cstdint>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// How many compute jobs a rank has at least in a step in which any rank of its pipeline computes.
/// `counts`: how many it has in each of its steps. Counts of 0 apart, it is their median (the
/// upper one of two), if at least half of the others are just that. Else the run varies its steps,
/// and it is 1. It is 0 for a rank that computes in no step.
std::int64_t leastCompute(std::vector<std::int64_t> counts);

/// Warns of steps in which a rank has fewer compute jobs or optimizers than usual. Steps in which
/// the same rank is the first to lack some share one warning; there are at most five warnings.
///
/// Usual are leastCompute() compute jobs. For optimizers it is the same median, counts of 0 too,
/// and none where they come in every few steps: a note says that gradients are added up.
/// Only steps of the phase that counts are (countedPhaseOf()): an evaluation may end with
/// a smaller batch. Needs the steps that completeTimeline() gives. Uses that many threads.
void findIncompleteSteps(const Timeline& timeline, const Topology& topology, int threads,
                         Diagnostics& diagnostics);

/// The steps that findIncompleteSteps() warns of, ascending.
std::vector<std::int32_t> incompleteSteps(const Timeline& timeline, const Topology& topology,
                                          int threads = 1);

}  // namespace pipetrace
