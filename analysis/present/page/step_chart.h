#pragma once

#include <string>
#include <unordered_map>

#include "analysis/causes/explanation.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A stretch of a run that a page shows.
struct ShownStretch {
  Timeline::Span time;
  std::string title;  ///< "The median step"
  std::string words;  ///< "step 3, the median of 5"
};

/// The median step of those that count and are whole; of all that count where none is whole. In an
/// asynchronous run it is a stretch in its middle, as long as a step. The run must have steps that
/// count.
ShownStretch medianStretch(const Explanation& run);

/// The events of a run that lie at least partly in a stretch of time, with its bubbles there.
/// Events that begin before the stretch are cut off at its begin. Refers to nothing.
struct StepTimeline {
  Timeline timeline;
  /// By event of `timeline`: the event of the run, with its true times. Bubbles have none.
  std::unordered_map<const Event*, const Event*> originals;
  /// By event of the run: that of `timeline`.
  std::unordered_map<const Event*, const Event*> copies;
  /// By bubble of `timeline`: what `run` says of it.
  std::unordered_map<const Event*, const Bubble*> bubbles;
};

/// `timeline` is that of `run`. Takes time proportional to the number of events in the stretch,
/// apart from finding them.
StepTimeline stepTimeline(const Timeline& timeline, const Explanation& run,
                          const Timeline::Span& stretch);

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
