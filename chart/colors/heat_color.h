#pragma once

#include <algorithm>
#include <cmath>

#include "chart/colors/theme.h"

namespace pipetrace {

/// The colour of a cell of a heat map: the paper for a `share` of 0 of the largest value, the
/// strongest for 1. textColorOn() can be read on it.
inline Color heatColor(const Theme& theme, double share) {
  constexpr Color kRed{200, 40, 60};
  constexpr Color kVermilion{213, 94, 0};  // Okabe and Ito
  const Color strongest = theme.name == ThemeName::kColourBlind ? kVermilion : kRed;
  return mix(theme.paper, strongest,
             static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * 256)));
}

}  // namespace pipetrace
