#pragma once

#include "chart/chart_model.h"
#include "viewer/export_options.h"

namespace pipetrace {

/// The steps that a chart `width` pixels wide shows when nothing else was asked for: all of a run
/// of up to three if the micro-batch numbers fit into its jobs; else the second and third, the
/// first being the least typical; else the second alone. The model must have steps.
StepChoice legibleSteps(const ChartModel& model, int width);

/// Of the least to the greatest number. The model must have steps.
StepChoice allSteps(const ChartModel& model);

/// The least and the greatest number of a step that is in `asked`; nothing if none is.
std::optional<StepChoice> stepsIn(const ChartModel& model, const StepChoice& asked);

/// Whether it is all that allSteps() is.
bool isWholeRun(const ChartModel& model, const StepChoice& steps);

/// The windows of the steps; for all steps the whole run, with what comes before and between them.
Timeline::Span timeOf(const ChartModel& model, const StepChoice& steps);

}  // namespace pipetrace
