#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run/steps/interval.h"
#include "analysis/run/steps/selection.h"
#include "analysis/run_summary.h"
#include "chart/draw/chart_picture.h"
#include "chart/steps/step_span.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The steps of a run that a chart shows, and their names and figures as text.
class ShownSteps {
 public:
  /// Chooses those that `wanted` names or, if it is empty, the last that is complete. Throws Error
  /// when the run has none of them.
  ShownSteps(const Timeline& timeline, const std::vector<NumberRange>& wanted);

  /// From the start of the first to the end of the last.
  Timeline::Span span() const;
  /// Their numbers, a range each.
  std::vector<NumberRange> numbers() const;
  /// "step 3 of 0 to 4".
  std::string names() const;
  /// names(), their length and their bubble ratio. `summary` is of these steps alone.
  std::string headline(const RunSummary& summary) const;

 private:
  std::vector<StepSpan> all_;
  std::vector<StepSpan> shown_;  // in the order of their starts
};

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
