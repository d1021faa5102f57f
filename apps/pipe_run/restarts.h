#pragma once

#include <functional>

#include "runtime/starting_ranks/launcher.h"

namespace pipetrace {

/// Launches ranks, and all of them again after one has failed, at most `restarts` times: `start`
/// gets how often they were started before. A training program of the engine goes on from its
/// newest checkpoint then. Says on standard error why a run failed. Returns the exit code of the
/// last one; throws Error as `start` does.
int launchAgain(int restarts, const std::function<LaunchResult(int restart)>& start);

}  // namespace pipetrace
