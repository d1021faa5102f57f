#include "apps/pipe_trace/load_run.h"

#include <utility>

#include "analysis/clocks/align_clocks.h"
#include "analysis/run_summary.h"
#include "apps/cli/command_line.h"
#include "apps/cli/print_diagnostics.h"
#include "apps/cli/progress_bar.h"
#include "parser/load_timeline.h"

namespace pipetrace {
namespace {

void checkForJobs(const Timeline& timeline, Diagnostics& diagnostics) {
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (isCompute(event.kind)) return;
    }
  }
  diagnostics.add({.message = "no compute job (forward, backward, ...) in the input, so there are "
                              "no steps and no bubbles",
                   .advice = "jobs are known by the types that docs/log-format.md lists; events of "
                             "other names are kept as they are"});
}

/// The bar is gone when it returns, or throws.
Timeline loadInputs(const LoadRunOptions& options, Diagnostics& diagnostics,
                    std::vector<LoadedFile>* files) {
  LoadProgress progress;
  const ProgressBar bar("reading", progress.bytesRead, progress.bytesInAll,
                        {.begin = options.begin, .quiet = options.quiet});
  return loadTimeline(options.inputs,
                      {.run = options.run,
                       .threads = options.threads,
                       .pattern = options.pattern,
                       .timeUnit = options.timeUnit,
                       .kindsFile = options.kindsFile,
                       .progress = &progress},
                      diagnostics, files);
}

}  // namespace

Severity lowestToTell(const LoadRunOptions& options) {
  if (!options.quiet) return Severity::kNote;
  return options.strict ? Severity::kWarning : Severity::kError;
}

int exitCodeOf(const LoadRunOptions& options, const Diagnostics& diagnostics) {
  return options.strict && diagnostics.hasFindings() ? kExitFindings : 0;
}

Timeline loadRun(const LoadRunOptions& options, Diagnostics& diagnostics,
                 std::vector<LoadedFile>* files) {
  const Severity lowest = lowestToTell(options);
  try {
    Timeline timeline = loadInputs(options, diagnostics, files);
    giveTopology(timeline, options.topology, diagnostics);
    if (options.align) timeline = alignedByLog(std::move(timeline), diagnostics);
    completeTimeline(timeline, diagnostics, options.threads);
    checkForJobs(timeline, diagnostics);
    checkSelection(timeline, options.selection, diagnostics);
    printDiagnostics(diagnostics, lowest);
    return timeline;
  } catch (...) {
    printDiagnostics(diagnostics, lowest);
    throw;
  }
}

}  // namespace pipetrace
