#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// The job log of `rank` (docs/log-format.md): meta and clock lines, the jobs of its compute lane,
/// the events of its other lanes, its counters, and the end line if RankInfo::hasEnd. Arguments of
/// events follow their fields. Bubbles are left out: no program logs them. `timeline` must be
/// sorted and have an entry for the rank.
std::string jobLogText(const Timeline& timeline, int rank);

/// The name of a log: folder/workerlog.<rank>.
std::string jobLogPath(const std::string& folder, int rank);

/// Appends jobLogText() of each rank to jobLogPath(), where it becomes a further run of a log that
/// is there already. All logs get their text, or none does. Makes the folder if it is missing.
/// Throws Error when the folder cannot be made or a file cannot be written.
void writeJobLogs(const Timeline& timeline, const std::string& folder);

}  // namespace pipetrace
