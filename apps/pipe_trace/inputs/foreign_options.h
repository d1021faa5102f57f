#pragma once

#include "apps/pipe_trace/inputs/load_run_options.h"

namespace pipetrace {

/// Declares the options for inputs of other programs: --pattern, --time-unit, --kinds, --time.
/// `options` must outlive `app`.
void addForeignOptions(CommandApp& app, LoadRunOptions& options);

}  // namespace pipetrace
