#pragma once

#include <cstdint>
#include <optional>

#include "chart/chart_hit.h"
#include "chart/chart_model.h"
#include "chart/chart_view.h"

namespace pipetrace {

enum class LengthOrder : std::uint8_t { kShorter, kLonger };

/// The bubble that follows `from` when bubbles are sorted by length; of equal ones the earlier
/// comes first, then that of the upper row. Without `from`, or if that is no bubble, the longest
/// (or the shortest, for kLonger). Nothing after the last one.
///
/// With an area, only bubbles that are at least partly in it count, with their whole length.
/// Bubbles that the schedule itself has (isOfSchedule()) count only where there are no others.
/// Takes time linear in all bubbles.
std::optional<ChartHit> bubbleByLength(const ChartModel& model,
                                       const std::optional<ChartArea>& area, const Event* from,
                                       LengthOrder order);

}  // namespace pipetrace
