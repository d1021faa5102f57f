#pragma once

#include "apps/pipe_trace/convert/options.h"

namespace pipetrace {

/// Writes PaddlePaddle's two files of the logs in --log_dir. Prints the findings to standard error
/// and the files' names to standard output. Returns the exit code, 0 or 1; throws Error for 2.
int runPaddleConversion(const ConvertOptions& options);

}  // namespace pipetrace
