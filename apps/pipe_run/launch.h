#pragma once

#include "apps/pipe_run/options.h"

namespace pipetrace {

/// `pipe-run -- PROGRAM`: launches the ranks, and reports on standard error why a run failed.
/// Returns the exit code; throws Error if the ranks could not be started.
int runLaunch(const PipeRunOptions& options);

}  // namespace pipetrace
