#pragma once

#include "trace/nanoseconds.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The longest run, and so the longest event: 366 days.
inline constexpr Nanoseconds kLongestRun = 366 * 86'400 * kNsPerSecond;

/// The span of a timeline whose times can be subtracted from each other: they lie within 146 years
/// of the zero of their clock. Throws Error for others. The clocks of hosts may be far apart before
/// they are aligned. Uses that many threads.
Timeline::Span subtractableSpan(const Timeline& timeline, int threads = 1);

/// The span of a run whose times can be added up over steps and ranks as well. Throws Error for
/// runs that are longer than kLongestRun, and for those whose ranks last more than 73 years
/// together. Uses that many threads.
Timeline::Span checkedSpan(const Timeline& timeline, int threads = 1);

}  // namespace pipetrace
