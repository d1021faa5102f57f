#pragma once

#include <vector>

#include "analysis/run/run.h"
#include "apps/pipe_trace/inputs/load_run_options.h"
#include "parser/load_timeline.h"
#include "trace/diagnostic.h"

namespace pipetrace {

class TraceReaders;

/// The lowest severity that is printed to standard error. Under --quiet these are errors, and with
/// --strict also the findings that make the exit code 1.
Severity lowestSeverity(const LoadRunOptions& options);

/// 0, or under --strict 1 when there were findings.
int exitCodeOf(const LoadRunOptions& options, const Diagnostics& diagnostics);

/// loadRun() with a progress bar. Prints the findings to standard error, even when loading fails.
/// `readers`, `files` and `alignment` are as for loadRun().
Run loadAndReport(const LoadRunOptions& options, const TraceReaders& readers,
                  Diagnostics& diagnostics, std::vector<LoadedFile>* files = nullptr,
                  Alignment* alignment = nullptr);

}  // namespace pipetrace
