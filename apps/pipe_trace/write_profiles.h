#pragma once

#include <string>

#include "apps/pipe_trace/options.h"
#include "apps/pipe_trace/picture.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Writes the outputs, all or none, with a progress bar, and returns a line for each. `picture` is
/// for the outputs that are pictures, and may be empty if there are none. Advice on a very large
/// output goes to standard error.
std::string writeProfiles(const Timeline& timeline, const Picture& picture,
                          const PipeTraceOptions& options);

}  // namespace pipetrace
