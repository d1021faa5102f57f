#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// Appends a timeline to folder/workerlog.<rank> as its ranks would have logged it.
void writeLogs(const Timeline& timeline, const std::string& folder);

}  // namespace pipetrace
