#pragma once

#include <string>

#include "chart/draw/chart_picture.h"

namespace pipetrace {

/// Returns a picture as an SVG file. `title`: of the document.
std::string renderSvg(const Drawing& drawing, const std::string& title);

/// Returns the chart as an SVG file. Throws Error for sizes that ChartPicture refuses.
std::string renderSvg(const ChartModel& model, const PictureOptions& options);

/// The same for a sorted timeline of which one picture is drawn.
std::string renderSvg(const Timeline& timeline, const PictureOptions& options,
                      const Theme& theme = themeOf(ThemeName::kPaper));

}  // namespace pipetrace
