#include "apps/pipe_trace/inputs/load_and_report.h"

#include <utility>

#include "apps/cli/command_line.h"
#include "apps/cli/print_diagnostics.h"
#include "apps/cli/progress_bar.h"
#include "ingest/load_run.h"

namespace pipetrace {
namespace {

/// The bar is gone when it returns, or throws.
Run loadWithBar(const LoadRunOptions& options, const TraceReaders& readers,
                Diagnostics& diagnostics, std::vector<LoadedFile>* files, Alignment* alignment) {
  LoadProgress progress;
  RunRequest request = options;
  request.reading.progress = &progress;
  const ProgressBar bar("reading", progress.bytesRead, progress.bytesInAll,
                        {.begin = options.begin, .quiet = options.quiet});
  return loadRun(request, readers, diagnostics, files, alignment);
}

/// Findings about all inputs say which run they are about.
Diagnostics named(const Diagnostics& diagnostics, const std::string& run) {
  if (run.empty()) return diagnostics;
  Diagnostics result;
  for (Diagnostic each : diagnostics.list()) {
    if (each.file.empty()) each.message = run + ": " + each.message;
    result.add(std::move(each));
  }
  return result;
}

}  // namespace

Severity lowestSeverity(const LoadRunOptions& options) {
  if (!options.quiet) return Severity::kNote;
  return options.strict ? Severity::kWarning : Severity::kError;
}

int exitCodeOf(const LoadRunOptions& options, const Diagnostics& diagnostics) {
  return options.strict && diagnostics.hasFindings() ? kExitFindings : 0;
}

Run loadAndReport(const LoadRunOptions& options, const TraceReaders& readers,
                  Diagnostics& diagnostics, std::vector<LoadedFile>* files, Alignment* alignment) {
  const Severity lowest = lowestSeverity(options);
  try {
    Run run = loadWithBar(options, readers, diagnostics, files, alignment);
    printDiagnostics(named(diagnostics, options.name), lowest);
    return run;
  } catch (...) {
    printDiagnostics(named(diagnostics, options.name), lowest);
    throw;
  }
}

}  // namespace pipetrace
