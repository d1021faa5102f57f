#pragma once

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Warns when the ranks are not those of one whole run:
/// - their `Profiler Meta:` lines disagree about world_size, num_stages, num_micro_batches or
///   schedule;
/// - a rank is not below the world_size;
/// - a rank below it is missing, unless all ranks come from profiles that were made of some ranks
///   only;
/// - ranks that ran backward jobs had all ended before others began.
void checkRankAgreement(const Timeline& timeline, Diagnostics& diagnostics);

/// The part of checkRankAgreement() that only ranks of different runs can cause: they disagree
/// about world_size, num_stages, num_micro_batches or schedule.
void checkOneRun(const Timeline& timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
