#pragma once

#include "apps/pipe_trace/options.h"

namespace pipetrace {

/// Reads the inputs, writes the outputs (all or none), and prints the summary. Returns the exit
/// code, 0 or 1; throws Error for 2.
int runPipeTrace(const PipeTraceOptions& options);

}  // namespace pipetrace
