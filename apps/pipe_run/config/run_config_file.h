#pragma once

#include "apps/pipe_run/options.h"

namespace pipetrace {

/// `pipe-run CONFIG.yml`: checks the file, its maps, its plan, the port and, through --dry-run of
/// the program, the program's options and model. Then it starts the ranks, with their logs in a new
/// folder. With --dry-run it prints what it would do. Returns the exit code; throws Error before
/// anything starts.
int runConfigFile(const PipeRunOptions& options);

/// `pipe-run --rank-of-launcher CONFIG.yml`: becomes the rank that srun, mpirun or torchrun has
/// started this process for. Returns only to throw Error.
[[noreturn]] void becomeRank(const PipeRunOptions& options);

}  // namespace pipetrace
