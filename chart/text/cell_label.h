#pragma once

#include <cstdint>
#include <string>

#include "chart/time_ticks.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Whether jobs show their number alone, as in the papers' charts, or with the letter of their
/// kind.
enum class LabelForm : std::uint8_t { kNumber, kLetterAndNumber };

/// What is written into an event's cell of `width` pixels: the micro-batch ("3", "F3"; of a fused
/// pair both, "3 + 1"), or the name of what has none. The longest form that fits; empty when none
/// does.
std::string cellLabel(const Timeline& timeline, const Event& event, LabelForm form, int width,
                      const TextWidth& textWidth);

}  // namespace pipetrace
