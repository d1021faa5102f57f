#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/event.h"

namespace pipetrace {

/// Spreads events that overlap in time over sub-lanes. No two events of one sub-lane share an
/// instant; events that only touch may. `events` must be in startsBefore order. Returns the
/// sub-lane of each, from 0. There are only as many sub-lanes as events overlap at one instant:
/// first-fit on interval graphs is optimal. O(n log k) for k sub-lanes.
std::vector<std::uint32_t> packSubLanes(std::span<const Event> events);

/// The number of sub-lanes, given those of the events; 0 for no events.
std::uint32_t subLaneCount(std::span<const std::uint32_t> subLanes);

}  // namespace pipetrace
