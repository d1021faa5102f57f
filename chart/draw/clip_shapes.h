#pragma once

#include <array>
#include <span>
#include <vector>

#include "chart/draw/canvas.h"

namespace pipetrace {

using PixelPoints = std::vector<PixelPoint>;

/// The parts of a line through `points` that are in `rect`.
std::vector<PixelPoints> lineInside(std::span<const PixelPoint> points, const PixelRect& rect);

/// The part of an area that is in `rect`; empty: there is none. Right for areas without dents.
PixelPoints polygonInside(std::span<const PixelPoint> corners, const PixelRect& rect);

/// Points along a cubic curve, so close that a line through them looks like it.
PixelPoints pointsAlong(const std::array<PixelPoint, 4>& curve);

}  // namespace pipetrace
