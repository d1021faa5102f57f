#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// The time from which a profile counts: its first instant, or with `absoluteTime` the Unix epoch.
/// Throws Error when a time cannot be written so: for a timeline of more than 292 years, and with
/// `absoluteTime` for one that begins before 1970.
Nanoseconds profileOrigin(const Timeline& timeline, bool absoluteTime, int threads = 1);

}  // namespace pipetrace
