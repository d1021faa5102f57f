#pragma once

#include <cstdint>
#include <vector>

#include "parser/chrome/arrow_end.h"

namespace pipetrace {

/// How many arrows these ends make, as Perfetto's trace processor (v52) counts them in its table
/// `flow`. In the order of time, a begin makes an arrow known, and each step or end of a known
/// arrow counts; but none counts on a thread where no span is open or has been the last one, and an
/// end at the next span counts once there is one, whether its arrow is known or not.
///
/// `hasSpans`: there are `X` events in the trace, on whatever thread. To be called while the
/// threads have their spans and edges. O(n log n) in what is on those threads that have an end.
std::int64_t countChromeArrows(const std::vector<ChromeArrowEnd>& ends, bool hasSpans);

}  // namespace pipetrace
