#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// Writes the timeline's compute and transfer lanes as job logs, one file per rank, into `folder`:
/// for tests.
void writeTestLogs(const Timeline& timeline, const std::string& folder);

}  // namespace pipetrace
