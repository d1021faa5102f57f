#pragma once

#include <span>
#include <string>
#include <vector>

#include "parser/runs/find_runs.h"

namespace pipetrace {

/// The message for inputs that hold several runs: for each run its ranks, the number of its files,
/// when it began, and a command of `program` that reads it alone. The command names a folder where
/// the folder holds no file of another run, else a pattern for the shell where that matches no
/// other name, else all files. `inputs` are as for loadTimeline(); folders outside of them are not
/// named.
std::string severalRunsText(std::span<const FileFacts> files, const std::vector<FilesOfRun>& runs,
                            const std::vector<std::string>& inputs, const std::string& program);

}  // namespace pipetrace
