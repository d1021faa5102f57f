#pragma once

#include <optional>

#include "chart/chart_model.h"
#include "chart/steps/step_span.h"

namespace pipetrace {

/// The steps that a chart `width` pixels wide shows by default. A run of up to three steps is shown
/// whole if its micro-batch numbers are legible. Else the second and third step are shown, as the
/// first is the least typical; else the second alone. The model must have steps.
StepChoice legibleSteps(const ChartModel& model, int width);

/// All steps, from the least to the greatest number. The model must have steps.
StepChoice allSteps(const ChartModel& model);

/// The least and the greatest number of the steps within `asked`; nothing if there are none.
std::optional<StepChoice> stepsIn(const ChartModel& model, const StepChoice& asked);

/// Whether `steps` are all steps of the run.
bool isWholeRun(const ChartModel& model, const StepChoice& steps);

/// The time of the steps: their windows. For all steps it is the whole run, with the time before
/// and between them.
Timeline::Span timeOf(const ChartModel& model, const StepChoice& steps);

}  // namespace pipetrace
