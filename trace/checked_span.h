#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// The span of a run whose times can be added up over steps and ranks without a check. Throws Error
/// for other runs: those of more than 366 days, and those whose ranks last more than 73 years
/// together. Times must lie within 146 years of the zero of their clock.
/// Uses that many threads.
Timeline::Span checkedSpan(const Timeline& timeline, int threads = 1);

}  // namespace pipetrace
