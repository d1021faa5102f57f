#pragma once

#include <string>

#include "apps/pipe_trace/options.h"
#include "apps/pipe_trace/picture.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Writes the outputs, all or none, with a progress bar, and returns a line for each. `picture` is
/// for those that are a picture; it may be empty if none is. On standard error it says what can be
/// done about a very large output.
std::string writeProfiles(const Timeline& timeline, const Picture& picture,
                          const PipeTraceOptions& options);

}  // namespace pipetrace
