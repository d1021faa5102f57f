#pragma once

#include "apps/pipe_trace/load_run_options.h"

namespace pipetrace {

/// Declares what is for inputs that other programs wrote: --pattern, --time-unit, --kinds.
/// `options` must outlive `app`.
void addForeignOptions(CLI::App& app, LoadRunOptions& options);

}  // namespace pipetrace
