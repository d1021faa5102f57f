#pragma once

#include <string>
#include <vector>

#include "ingest/load_run.h"
#include "parser/load_timeline.h"

namespace pipetrace {

/// Throws Error for the same output twice, for one that is read, and for one in an input folder
/// that pipe-trace did not write. Call it before anything is read.
void checkOutputFiles(const std::vector<std::string>& outputs, const RunRequest& request);

/// Throws Error for an output that would replace a file that was read. Call it before anything is
/// written: only loading a folder shows which files are read.
void checkOutputs(const std::vector<std::string>& outputs, const std::vector<LoadedFile>& loaded);

}  // namespace pipetrace
