#include "apps/load_run.h"

#include "analysis/run_summary.h"
#include "apps/print_diagnostics.h"
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
                             "other names are kept as transfers and the like"});
}

}  // namespace

Timeline loadRun(const LoadRunOptions& options, Diagnostics& diagnostics) {
  try {
    Timeline timeline =
        loadTimeline(options.inputs, {.run = options.run, .threads = options.threads}, diagnostics);
    completeTimeline(timeline, diagnostics);
    checkForJobs(timeline, diagnostics);
    printDiagnostics(diagnostics, options.lowest);
    return timeline;
  } catch (...) {
    printDiagnostics(diagnostics, options.lowest);
    throw;
  }
}

}  // namespace pipetrace
