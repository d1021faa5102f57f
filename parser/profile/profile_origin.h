#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// The time from which a profile counts: its first instant, or with `absoluteTime` the Unix epoch.
/// Throws Error as checkedSpan() does, and with `absoluteTime` for a run that begins before 1970.
Nanoseconds profileOrigin(const Timeline& timeline, bool absoluteTime, int threads = 1);

}  // namespace pipetrace
