#pragma once

#include "chart/draw/color.h"

namespace pipetrace::link_colors {

/// An arrow to a culprit.
inline constexpr Color kCulprit{150, 16, 44};
/// The critical path.
inline constexpr Color kPath{200, 0, 96};

}  // namespace pipetrace::link_colors
