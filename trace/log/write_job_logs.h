#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// The log that `rank` would have written of the timeline (docs/log-format.md). It has meta and
/// clock lines, the jobs of its compute lane, the events of its other lanes, its counters, and the
/// end line if RankInfo::hasEnd. Arguments of events follow their fields. Bubbles are left out, as
/// no program logs them. `timeline` must be sorted and have an entry for the rank.
std::string jobLogText(const Timeline& timeline, int rank);

/// folder/workerlog.<rank>.
std::string jobLogPath(const std::string& folder, int rank);

/// Puts jobLogText() of each rank at the end of jobLogPath(), where it is a further run of logs
/// that are there already: all logs get it, or none. The folder is made if it is missing. Throws
/// Error for a folder that cannot be made and for a file that cannot be written.
void writeJobLogs(const Timeline& timeline, const std::string& folder);

}  // namespace pipetrace
