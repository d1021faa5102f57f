#pragma once

#include <optional>

#include "chart/chart_hit.h"

namespace pipetrace {

/// The job that a bubble is blamed on, or the message in front, and its row. It is found by what
/// the profile says of it; nothing for other events, and where the profile lacks that job. This is
/// for runs that are not explained yet, or whose profile has other bubbles: an explanation knows
/// the event itself (GraphPlaces::culpritOf()). A culprit without an id is found by its name, which
/// is all that a profile has: of several, the last that began before the bubble's end. Takes time
/// linear in the jobs of the culprit's rank.
std::optional<ChartHit> culpritOf(const ChartModel& model, const Event& bubble);

}  // namespace pipetrace
