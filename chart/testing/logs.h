#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// Writes the timeline's compute and transfer lanes as job logs for tests, one file per rank, into
/// `folder`.
void writeTestLogs(const Timeline& timeline, const std::string& folder);

}  // namespace pipetrace
