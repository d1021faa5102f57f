#pragma once

#include <span>

#include "parser/runs/file_facts.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Finds the parts of a run (profiler cycles): files of known processes, of which a rank has
/// several that follow each other. Sets RankInfo::partBegins of all ranks. Steps that start again
/// in a part get numbers after those of the part before, and so do the numbers of jobs. A note says
/// so. `timeline` holds all files, unsorted. A run with a job log has no parts.
void giveParts(std::span<const FileFacts> files, Timeline& timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
