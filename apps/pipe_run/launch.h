#pragma once

#include "apps/pipe_run/options.h"
#include "runtime/starting_ranks/launcher.h"

namespace pipetrace {

/// The part of the options that every kind of start shares.
LaunchOptions launchOptionsOf(const PipeRunOptions& options);

/// `pipe-run -- PROGRAM`: launches the ranks, and reports on standard error why a run failed.
/// Returns the exit code; throws Error if the ranks could not be started.
int runLaunch(const PipeRunOptions& options);

}  // namespace pipetrace
