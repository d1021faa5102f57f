#pragma once

#include <string>
#include <vector>

#include "apps/cli/profile_format.h"
#include "apps/pipe_trace/options.h"
#include "parser/load_timeline.h"

namespace pipetrace {

/// The format that the name of an output tells, else that of --format; Chrome JSON for standard
/// output. Throws Error when nothing tells it.
ProfileFormat formatOf(const std::string& output, const PipeTraceOptions& options);

/// Whether an output is a picture.
bool wantsPicture(const PipeTraceOptions& options);

/// Throws Error for outputs that cannot be meant: a name without a format, the same file twice, a
/// file that is read, standard output for two results. A file in an input folder is refused unless
/// pipe-trace wrote it.
void checkOutputs(const PipeTraceOptions& options);

/// Throws Error for an output that would replace a file that was read: of a folder, only loading it
/// tells which those are. To be called before anything is written.
void checkOutputs(const PipeTraceOptions& options, const std::vector<LoadedFile>& loaded);

}  // namespace pipetrace
