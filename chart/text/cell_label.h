#pragma once

#include <string>

#include "chart/time_ticks.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The text in an event's cell of `width` pixels: the action ("1F3") or the micro-batch ("3"), both
/// halves of a fused pair ("0F3 7B1", "3 + 1"), or the name of an event without a micro-batch. A
/// bubble has its class, its length and its culprit. The longest form that fits; empty if none
/// does.
std::string cellLabel(const Timeline& timeline, const Event& event, int width,
                      const TextWidth& textWidth);

}  // namespace pipetrace
