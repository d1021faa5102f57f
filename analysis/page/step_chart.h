#pragma once

#include <string>

#include "analysis/page/step_timeline.h"

namespace pipetrace {

/// The Gantt chart of a stretch of a run, for the script of a page.
struct StepChart {
  /// One JSON object that may stand in a <script> element; page_chart.js reads it.
  std::string json;
  std::string legend;  ///< HTML
  std::string note;    ///< what the chart leaves out; empty: nothing. A sentence
};

/// Draws the stretch with the chart's own drawing, at widths that double from level to level up to
/// where each job has room for its text. The script shows the widest level that is no wider than it
/// needs, so that texts fit. Levels in between are left out where all would be too long.
///
/// `longest`: of the stretches whose charts have one time scale (page_chart.js: "linked"); 0: it is
/// alone. Their levels have as many pixels for the same time, and so the same ticks.
StepChart stepChart(const Timeline& timeline, const Explanation& run, const ShownStretch& stretch,
                    Nanoseconds longest = 0);

}  // namespace pipetrace
