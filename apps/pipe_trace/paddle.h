#pragma once

#include "apps/pipe_trace/options.h"

namespace pipetrace {

/// PaddlePaddle's two files of the logs in --log_dir. Prints what was wrong in them to standard
/// error and what was written to standard output. Returns the exit code, 0 or 1; throws Error for
/// 2.
int runPaddleConversion(const PipeTraceOptions& options);

}  // namespace pipetrace
