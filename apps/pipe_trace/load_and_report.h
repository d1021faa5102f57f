#pragma once

#include <vector>

#include "apps/pipe_trace/load_run_options.h"
#include "parser/load_timeline.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The lowest severity that is printed to standard error. Under --quiet only errors are, and what
/// makes --strict exit with 1.
Severity lowestToTell(const LoadRunOptions& options);

/// 0, or under --strict what says that there were findings.
int exitCodeOf(const LoadRunOptions& options, const Diagnostics& diagnostics);

/// loadRun() with a progress bar. Prints the findings to standard error, even when loading fails.
/// `files` is as for loadRun().
Timeline loadAndReport(const LoadRunOptions& options, Diagnostics& diagnostics,
                       std::vector<LoadedFile>* files = nullptr);

}  // namespace pipetrace
