#pragma once

#include "chart/chart_view.h"
#include "chart/draw/canvas.h"

namespace pipetrace {

inline constexpr int kTimeAxisHeight = 42;
inline constexpr int kLegendLineHeight = 20;

/// The rows in view with their jobs and bubbles, over the grid of the time axis, inside view.area.
void drawRows(Canvas& canvas, const ChartView& view);

/// Steps and times, in `box` above or below view.area, kTimeAxisHeight high. Times count from the
/// model's first event.
void drawTimeAxis(Canvas& canvas, const ChartView& view, PixelRect box);

/// Rank and lane names, in `box` to the left of view.area and as high. Names that are too long are
/// cut off with an ellipsis.
void drawRowLabels(Canvas& canvas, const ChartView& view, PixelRect box);

/// The width that drawRowLabels() needs, within sensible limits.
int rowLabelWidth(const TextMeasure& measure, const ChartModel& model);

/// The legend, from the upper left corner of `box` on, in as many lines as its width asks for.
void drawLegend(Canvas& canvas, const std::vector<LegendEntry>& legend, PixelRect box);

/// The height of the legend when it is `width` wide.
int legendHeight(const TextMeasure& measure, const std::vector<LegendEntry>& legend, int width);

}  // namespace pipetrace
