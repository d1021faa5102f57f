#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// Whether the logs say of all ranks that they ran on processors, or on devices that are emulated
/// there. They have no use for advice on GPUs and launches.
bool runsOnProcessors(const Timeline& timeline);

}  // namespace pipetrace
