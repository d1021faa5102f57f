#pragma once

#include <string>
#include <vector>

#include "apps/cli/profile_format.h"
#include "apps/pipe_trace/options.h"
#include "parser/load_timeline.h"

namespace pipetrace {

/// The format that an output's name ends in, else that of --format; Chrome JSON for standard
/// output. Throws Error when neither says it.
ProfileFormat formatOf(const std::string& output, const PipeTraceOptions& options);

/// Whether an output is a picture.
bool wantsPicture(const PipeTraceOptions& options);

/// Throws Error for outputs that make no sense: a name without a format, the same file twice, a
/// file that is read, standard output for two results. A file in an input folder is refused unless
/// pipe-trace wrote it.
void checkOutputs(const PipeTraceOptions& options);

/// The part of it that does not depend on formats. Throws Error for the same file twice, for a file
/// that is read, and for one in an input folder that pipe-trace did not write.
void checkOutputFiles(const std::vector<std::string>& outputs, const LoadRunOptions& load);

/// Throws Error for an output that would replace a file that was read. Call it before anything is
/// written: only loading a folder shows which files are read.
void checkOutputs(const std::vector<std::string>& outputs, const std::vector<LoadedFile>& loaded);

}  // namespace pipetrace
