#pragma once

#include <cstdint>
#include <string>

#include "chart/time_ticks.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Whether jobs show only their micro-batch number, as in the papers' charts, or the letter of
/// their kind as well.
enum class LabelForm : std::uint8_t { kNumber, kLetterAndNumber };

/// The text in an event's cell of `width` pixels: the micro-batch ("3", "F3"), both of a fused pair
/// ("3 + 1"), or the name of an event without a micro-batch. A bubble has its class and its
/// culprit. The longest form that fits; empty if none does.
std::string cellLabel(const Timeline& timeline, const Event& event, LabelForm form, int width,
                      const TextWidth& textWidth);

}  // namespace pipetrace
