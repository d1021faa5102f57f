#pragma once

#include "apps/pipe_run/options.h"

namespace pipetrace {

/// `pipe-run rehearse`: runs the rehearsal, and prints its figures beside the plan's. Returns the
/// exit code, 0 or 1; throws Error for 2.
int runRehearse(const RehearseOptions& options);

}  // namespace pipetrace
