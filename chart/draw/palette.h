#pragma once

#include "chart/draw/color.h"
#include "trace/event.h"

namespace pipetrace {

/// What is on the chart besides jobs.
namespace palette {
inline constexpr Color kPaper{255, 255, 255};
inline constexpr Color kInk{27, 31, 36};
inline constexpr Color kFaintInk{95, 104, 115};
inline constexpr Color kGrid{225, 229, 234};
inline constexpr Color kStepLine{150, 158, 168};
inline constexpr Color kRowShade{247, 248, 250};
inline constexpr Color kBubble{238, 240, 243};
inline constexpr Color kBubbleStroke{172, 179, 188};
inline constexpr Color kBubbleColumn{221, 225, 230};  ///< the two, too small to be hatched
}  // namespace palette

/// The colour of a job, as the papers draw them (Megatron-LM, PipeDream, zero bubble): forward
/// blue, backward green, its input half teal, its weight half a deeper green, later chunks darker.
/// Transfers and collectives are muted. Kinds of the compute lane stay apart under protanopia and
/// deuteranopia. Bubbles are palette::kBubble.
Color jobColor(const Event& event);

/// Black or white, whichever reads better on `background`.
Color textColorOn(Color background);

}  // namespace pipetrace
