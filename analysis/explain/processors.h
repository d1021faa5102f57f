#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// Whether the logs say of all ranks that they ran on processors, or on devices that are emulated
/// there. What is said of GPUs and of launches is no use to them.
bool runsOnProcessors(const Timeline& timeline);

}  // namespace pipetrace
