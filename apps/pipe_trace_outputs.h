#pragma once

#include <string>

#include "apps/pipe_trace_options.h"
#include "apps/profile_format.h"

namespace pipetrace {

/// The format that the name of an output tells, else that of --format; Chrome JSON for standard
/// output. Throws Error when nothing tells it.
ProfileFormat formatOf(const std::string& output, const PipeTraceOptions& options);

/// Throws Error for outputs that cannot be meant: a name that tells no format, the same file
/// twice, a file that is read, standard output wanted twice.
void checkOutputs(const PipeTraceOptions& options);

}  // namespace pipetrace
