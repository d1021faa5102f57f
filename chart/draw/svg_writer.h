#pragma once

#include <string>

#include "chart/draw/chart_picture.h"

namespace pipetrace {

/// The chart as an SVG file. Throws Error for sizes that ChartPicture refuses.
std::string renderSvg(const ChartModel& model, const PictureOptions& options);

/// The same for a sorted timeline that is drawn once.
std::string renderSvg(const Timeline& timeline, const PictureOptions& options);

}  // namespace pipetrace
