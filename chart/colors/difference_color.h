#pragma once

#include "chart/colors/theme.h"

namespace pipetrace {

/// The colour of what takes longer, or comes later, than what it is compared with (vermilion), and
/// of what takes less time, or comes sooner (blue): Okabe and Ito's, which the colour-blind tell
/// apart from each other and from jobs and bubbles.
inline Color differenceColor(const Theme& theme, bool isMore) {
  if (theme.isDark) return isMore ? Color{255, 150, 70} : Color{110, 190, 255};
  return isMore ? Color{213, 94, 0} : Color{0, 114, 178};
}

}  // namespace pipetrace
