#pragma once

#include <utility>
#include <vector>

#include "chart/colors/hatch_pattern.h"
#include "chart/draw/canvas.h"

namespace pipetrace {

/// The middle lines of some of a pattern's lines inside `rect`, from edge to edge, as if they were
/// not dashed. They are those of one grid for all rectangles.
std::vector<std::pair<PixelPoint, PixelPoint>> linesIn(const PixelRect& rect,
                                                       HatchDirection direction);

/// The length of a dash, and of what is left free after it, in pixels along the line.
std::pair<double, double> dashesOf(const HatchLines& lines);

}  // namespace pipetrace
