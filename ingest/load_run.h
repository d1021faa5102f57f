#pragma once

#include <string>
#include <vector>

#include "analysis/run/clocks/alignment.h"
#include "analysis/run/run.h"
#include "analysis/run/steps/selection.h"
#include "analysis/run/topology/given_topology.h"
#include "parser/load_timeline.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// The run to read, and the part of it to show.
struct RunRequest {
  std::vector<std::string> inputs;  ///< as for loadTimeline()
  LoadOptions reading;
  GivenTopology topology;
  AlignBy align = AlignBy::kBest;  ///< how times are moved into rank 0's clock
  bool bubbles = true;             ///< add lanes of idle time
  Selection selection;             ///< the part to show; figures are those of the whole run
  /// Whether profiles keep the times and the bubbles that they were written with.
  bool profilesAsWritten = false;
};

class TraceReaders;

/// Reads a whole run, on request.reading.threads threads: loadTimeline(),
/// leaveOutEventsWithoutTime(), subtractableSpan(), placeByGroups(), giveTopology(),
/// placeByStages(), aligned(), checkedSpan(), completeTimeline(). It warns in `diagnostics` where
/// there is no compute job and where the selection names parts that the run lacks. readyToShow()
/// applies the selection. A run of which it chooses steps of an evaluation alone is that phase's
/// already (inPhaseOf()).
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
