#pragma once

#include <map>

#include "analysis/clocks/rank_clock.h"
#include "trace/timeline.h"

namespace pipetrace {

/// By rank. Each has a reading.
using RankClocks = std::map<int, RankClock>;

/// Converts all times of the ranks that have a clock here, but for their clock readings. Sorts the
/// timeline. False, and nothing is moved, where times or the distances between them would not fit
/// 64 bits.
bool moveTimes(Timeline& timeline, const RankClocks& clocks);

/// The first and the last instant of each rank.
std::map<int, Timeline::Span> spansOfRanks(const Timeline& timeline);

}  // namespace pipetrace
