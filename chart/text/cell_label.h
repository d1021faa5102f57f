#pragma once

#include <string>

#include "chart/time_ticks.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The text in an event's cell of `width` pixels: the longest form that fits, empty if none does. A
/// job has its action ("1F3") or its micro-batch ("3"). A fused pair has both ("0F3 7B1", "3 + 1").
/// An event without a micro-batch has its name. A bubble has its class, its length and its culprit.
/// An action is written only where one of `actionWidth` would fit: with the width of the run's
/// widest action, cells of one width have labels of one form.
std::string cellLabel(const Timeline& timeline, const Event& event, int width,
                      const TextWidth& textWidth, int actionWidth = 0);

}  // namespace pipetrace
