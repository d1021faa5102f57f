#pragma once

#include <functional>

#include "apps/pipe_run/options.h"
#include "runtime/starting_ranks/launcher.h"

namespace pipetrace {

/// Launches ranks, and all of them again after one has failed, at most `restarts` times: `start`
/// gets how often they were started before. A training program of the engine goes on from its
/// newest checkpoint then. Says on standard error why a run failed. Returns the exit code of the
/// last one; throws Error as `start` does.
int launchAgain(int restarts, const std::function<LaunchResult(int restart)>& start);

/// The part of the options that every kind of start shares.
LaunchOptions launchOptionsOf(const PipeRunOptions& options);

/// `pipe-run -- PROGRAM`: launches the ranks, and reports on standard error why a run failed.
/// Returns the exit code; throws Error if the ranks could not be started.
int runLaunch(const PipeRunOptions& options);

}  // namespace pipetrace
