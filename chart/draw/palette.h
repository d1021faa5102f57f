#pragma once

#include "chart/draw/color.h"
#include "trace/event.h"

namespace pipetrace {

/// The colours of a chart apart from those of jobs.
namespace palette {
inline constexpr Color kPaper{255, 255, 255};
inline constexpr Color kInk{27, 31, 36};
inline constexpr Color kFaintInk{95, 104, 115};
inline constexpr Color kGrid{225, 229, 234};
inline constexpr Color kStepLine{150, 158, 168};
inline constexpr Color kRowShade{247, 248, 250};
inline constexpr Color kBubble{238, 240, 243};
inline constexpr Color kBubbleStroke{172, 179, 188};
inline constexpr Color kBubbleColumn{221, 225, 230};  ///< their mean, for columns without hatching
}  // namespace palette

/// The colour of an event, as in the papers of Megatron-LM, PipeDream and zero bubble. Forward is
/// blue, backward green, its input half teal, its weight half a deeper green. Later chunks are
/// darker. Transfers and collectives are muted. Kinds of the compute lane differ under protanopia
/// and deuteranopia, too. A bubble has the tint of its class.
Color jobColor(const Event& event);

/// The tint of a bubble. The schedule's own are nearly grey, faults are stronger. Tints differ from
/// each other and from the jobs of a schedule, under protanopia and deuteranopia, too. kUnknown and
/// kNone: the mean of the hatching with which they are drawn.
Color bubbleColor(BubbleClass bubbleClass);

/// Whether the bubble is hatched: its cause is not known.
bool isHatched(const Event& bubble);

/// Black or white: the one that is easier to read on `background`.
Color textColorOn(Color background);

}  // namespace pipetrace
