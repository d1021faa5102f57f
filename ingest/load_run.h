#pragma once

#include <vector>

#include "analysis/run/run.h"
#include "ingest/run_request.h"
#include "parser/load_timeline.h"
#include "trace/diagnostic.h"

namespace pipetrace {

class TraceReaders;

/// Reads a whole run, on request.reading.threads threads: loadTimeline(),
/// leaveOutEventsWithoutTime(), subtractableSpan(), placeByGroups(), giveTopology(), aligned(),
/// checkedSpan(), completeTimeline(). It warns in `diagnostics` where there is no compute job and
/// where the selection names parts that the run lacks. readyToShow() applies the selection. A run
/// of which it chooses steps of an evaluation alone is that phase's already (inPhaseOf()).
///
/// `readers` and `files` are as for loadTimeline(). It throws what the functions above throw;
/// `diagnostics` holds the findings even then.
Run loadRun(const RunRequest& request, const TraceReaders& readers, Diagnostics& diagnostics,
            std::vector<LoadedFile>* files = nullptr, Alignment* alignment = nullptr);

/// The bubbles that the request asks for in profiles of the run.
BubbleChoice bubblesFor(const Run& run, const RunRequest& request);

/// A run as the request asks for it, without the parts that request.selection leaves out.
ReadyRun readyToShow(Run run, const RunRequest& request);

}  // namespace pipetrace
