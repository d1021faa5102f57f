#pragma once

#include <string>

#include "apps/pipe_trace/options.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Writes the outputs, with a progress bar, and returns a line for each. None is committed before
/// all are written. On standard error it says what can be done about a very large one.
std::string writeProfiles(const Timeline& timeline, const PipeTraceOptions& options);

}  // namespace pipetrace
