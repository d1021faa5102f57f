#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// The span of a run whose times can be added up over steps and ranks without a check: it is at
/// most 366 days long, all its ranks together last at most 73 years, and it lies within 146 years
/// of the zero of its clock. Throws Error where one of these does not hold. Uses that many threads.
Timeline::Span checkedSpan(const Timeline& timeline, int threads = 1);

}  // namespace pipetrace
