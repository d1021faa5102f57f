#pragma once

#include <string>

#include "analysis/run_summary.h"
#include "analysis/steps/selection.h"
#include "chart/draw/chart_picture.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A Gantt chart as an SVG file.
struct Picture {
  std::string svg;
  std::string what;  ///< "step 3 of 0 to 4"
};

/// Draws the steps that `selection` names, or else the last complete one, with the ranks and types
/// that it leaves. `timeline` and `summary` must be of the whole run: jobs of other steps may reach
/// into those that are drawn. Throws Error when there is no such step.
Picture pictureOfSteps(const Timeline& timeline, const RunSummary& summary,
                       const Selection& selection, const Theme& theme);

/// The SVG file of options.range, as wide as the numbers of its short jobs need, within limits.
std::string pictureOf(const Timeline& timeline, PictureOptions options, const Theme& theme);

}  // namespace pipetrace
