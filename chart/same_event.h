#pragma once

#include <optional>

#include "chart/chart_hit.h"

namespace pipetrace {

/// Finds the event of `hit`, which is of `from`, in another model of the same run: by rank, lane,
/// times, kind and id. Nothing if it has none. Takes time logarithmic in the lane's events.
std::optional<ChartHit> sameEvent(const ChartHit& hit, const ChartModel& from,
                                  const ChartModel& in);

}  // namespace pipetrace
