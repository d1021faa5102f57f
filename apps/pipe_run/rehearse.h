#pragma once

#include "apps/pipe_run/options.h"

namespace pipetrace {

/// `pipe-run rehearse`: runs the rehearsal, and prints its figures beside the plan's. Returns the
/// exit code: 0, 1, or 128 + n after signal n; throws Error for 2.
int runRehearse(const RehearseOptions& options);

}  // namespace pipetrace
