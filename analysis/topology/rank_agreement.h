#pragma once

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Warns when the ranks are not those of one whole run: when their `Profiler Meta:` lines disagree
/// about world_size, num_stages, num_micro_batches or schedule, when a rank is not below the
/// world_size, when ranks below it are missing, unless all come from profiles that were asked to
/// hold some ranks only, and when ranks that have run backward jobs had all ended before others
/// began.
void checkRankAgreement(const Timeline& timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
