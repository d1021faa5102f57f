#pragma once

#include <vector>

#include "analysis/run_summary.h"
#include "ingest/run_request.h"
#include "parser/load_timeline.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Reads a whole run, on request.reading.threads threads: loadTimeline(), giveTopology(),
/// aligned(), completeTimeline(). It warns in `diagnostics` where there is no compute job and
/// where the selection names parts that the run lacks. readyToShow() applies the selection. A run
/// of which it chooses steps of an evaluation alone is that phase's already (inPhaseOf()).
///
/// `files` and the errors it throws are as for loadTimeline(); `diagnostics` holds the findings
/// even when it throws.
Timeline loadRun(const RunRequest& request, Diagnostics& diagnostics,
                 std::vector<LoadedFile>* files = nullptr, Alignment* alignment = nullptr);

/// A run with its bubbles, and its figures.
struct ReadyRun {
  Timeline timeline;
  RunSummary summary;
};

/// Sums up a run that loadRun() made of the same request, and adds or removes its bubbles. The
/// result holds the whole run.
ReadyRun withBubbles(Timeline run, const RunRequest& request);

/// As withBubbles(), without the parts that request.selection leaves out.
ReadyRun readyToShow(Timeline run, const RunRequest& request);

}  // namespace pipetrace
