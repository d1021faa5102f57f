#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "chart/chart_hit.h"

namespace pipetrace {

/// Finds the event of `hit`, which is of `from`, in another model of the same run: by rank, lane,
/// times, kind and id. Nothing if it has none. Takes time logarithmic in the lane's events.
std::optional<ChartHit> sameEvent(const ChartHit& hit, const ChartModel& from,
                                  const ChartModel& in);

/// The rows of the other model that show the same lanes as `rows` of `from`; ascending. Rows that
/// it lacks are left out.
std::vector<std::size_t> sameRows(const std::vector<std::size_t>& rows, const ChartModel& from,
                                  const ChartModel& in);

}  // namespace pipetrace
