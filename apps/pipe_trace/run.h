#pragma once

#include <functional>
#include <string>

#include "analysis/run/run.h"
#include "apps/pipe_trace/options.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Reads the inputs, writes the outputs (all or none), and prints the summary. Returns the exit
/// code, 0 or 1; throws Error for 2.
int runPipeTrace(const PipeTraceOptions& options);

/// Makes the text to print about the selected part of a run: JSON under options.json.
using SummaryText = std::function<std::string(const Timeline&, const RunSummary&)>;

/// Writes the outputs of a loaded run (all or none), and prints `report` and a line for each.
/// Returns the exit code.
int writeAndReport(Run run, const PipeTraceOptions& options, const Diagnostics& diagnostics,
                   const SummaryText& report);

}  // namespace pipetrace
