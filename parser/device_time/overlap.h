#pragma once

#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Whether spans run at the same time as others of them, for more than a hundredth of the time of
/// all: jobs that touch do not.
bool doOverlap(std::vector<Timeline::Span> spans);

}  // namespace pipetrace
