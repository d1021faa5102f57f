#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/event.h"

namespace pipetrace {

/// Spreads events that overlap in time over sub-lanes, so that no two on one sub-lane share an
/// instant; events that only touch stay together. `events` must be in startsBefore order. Returns
/// the sub-lane of each, 0-based, using as few as the largest number of events that overlap at one
/// instant (first-fit on interval graphs is optimal). O(n log k) for k sub-lanes.
std::vector<std::uint32_t> packSubLanes(std::span<const Event> events);

/// 1 + the largest sub-lane; 0 for no events.
std::uint32_t subLaneCount(std::span<const std::uint32_t> subLanes);

}  // namespace pipetrace
