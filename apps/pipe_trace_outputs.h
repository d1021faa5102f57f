#pragma once

#include "apps/pipe_trace_options.h"

namespace pipetrace {

/// Throws Error for outputs that cannot be meant: an ending that is not supported, the same file
/// twice, a file that is read, standard output wanted twice.
void checkOutputs(const PipeTraceOptions& options);

}  // namespace pipetrace
