#pragma once

#include <cstdint>
#include <span>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// One moment that two clocks showed: a counter of ticks that is cheap to read, and
/// CLOCK_MONOTONIC.
struct ClockAnchor {
  std::uint64_t ticks = 0;
  Nanoseconds monotonic = 0;
};

/// The CLOCK_MONOTONIC time of a reading of the counter. Between two anchors it lies on the
/// straight line through them; before the first and after the last, on the line through those two.
/// Never decreases with `ticks`. `anchors`: at least two, both clocks ascending, ticks strictly.
Nanoseconds monotonicAt(std::span<const ClockAnchor> anchors, std::uint64_t ticks);

}  // namespace pipetrace
