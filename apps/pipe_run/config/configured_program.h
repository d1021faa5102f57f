#pragma once

#include <string>
#include <vector>

#include "apps/pipe_run/options.h"
#include "runtime/engine/config/run_config.h"

namespace pipetrace {

/// The command line of a configured program: PROGRAM --config FILE, and what --resume adds. A
/// number goes on from that step, a folder from the newest checkpoint there, and the folder of a
/// step, DIR/step_4, from that one. Throws Error as programOf() does.
std::vector<std::string> commandOf(const RunConfig& config, const PipeRunOptions& options);

}  // namespace pipetrace
