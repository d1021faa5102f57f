#pragma once

#include <string>

#include "apps/pipe_trace/options.h"
#include "apps/pipe_trace/outputs/picture.h"
#include "trace/files/output_set.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Text to print about the outputs.
struct WrittenProfiles {
  std::string lines;   ///< one for each
  std::string advice;  ///< on those that are very large
};

/// Writes the outputs into `files`, which the caller commits, with a progress bar. `picture` is for
/// the outputs that are pictures, and may be empty if there are none.
WrittenProfiles writeProfiles(const Timeline& timeline, const Picture& picture,
                              const PipeTraceOptions& options, OutputSet& files);

}  // namespace pipetrace
