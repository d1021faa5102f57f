#pragma once

#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Leaves out the events of a rank that begin in the first day of the epoch, if nine tenths of its
/// events begin years later. Profilers write 0 for what they did not measure. Bubbles go as other
/// events do, samples of counters as well. RankInfo::eventsWithoutTime counts the events. Uses that
/// many threads, which makes no difference to the result.
void leaveOutEventsWithoutTime(Timeline& timeline, int threads = 1);

/// The steps in which a job had work on a device that has no time (device_arguments::kUntimed),
/// ascending.
std::vector<std::int32_t> stepsWithUntimedWork(const Timeline& timeline);

}  // namespace pipetrace
