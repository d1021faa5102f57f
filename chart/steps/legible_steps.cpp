#include "chart/steps/legible_steps.h"

#include <algorithm>
#include <limits>
#include <string>

#include "chart/draw/text_width.h"
#include "chart/time_axis.h"

namespace pipetrace {
namespace {

constexpr int kLegibleText = 11;
constexpr int kLabelsAndMargins = 140;

/// Whether the shortest kind of job has room for its micro-batch number.
bool isLegible(const ChartModel& model, const Timeline::Span& span, int width) {
  const std::string largest = std::to_string(model.largestMicroBatch());
  const int needed = estimatedTextWidth(largest, {.size = kLegibleText}) + 4;
  const TimeAxis axis(span.begin, span.end, std::max(width - kLabelsAndMargins, 1));
  return model.typicalJob() >= axis.durationOf(needed);
}

}  // namespace

StepChoice legibleSteps(const ChartModel& model, int width) {
  const std::vector<StepSpan> steps = countedSteps(model.steps());
  if (steps.size() <= 3 && isLegible(model, model.span(), width)) return allSteps(model);
  const std::size_t second = std::min<std::size_t>(1, steps.size() - 1);
  const std::size_t third = std::min<std::size_t>(2, steps.size() - 1);
  const auto both = spanOfSteps(steps, steps[second].step, steps[third].step);
  if (both && isLegible(model, *both, width)) return {steps[second].step, steps[third].step};
  return {steps[second].step, steps[second].step};
}

StepChoice allSteps(const ChartModel& model) {
  using Limits = std::numeric_limits<std::int32_t>;
  return *stepsIn(model, {Limits::min(), Limits::max()});
}

std::optional<StepChoice> stepsIn(const ChartModel& model, const StepChoice& asked) {
  std::optional<StepChoice> found;
  for (const StepSpan& step : model.steps()) {
    if (step.step < asked.first || step.step > asked.last) continue;
    if (!found) found = StepChoice{step.step, step.step};
    found->first = std::min(found->first, step.step);
    found->last = std::max(found->last, step.step);
  }
  return found;
}

bool isWholeRun(const ChartModel& model, const StepChoice& steps) {
  const StepChoice all = allSteps(model);
  return steps.first <= all.first && steps.last >= all.last;
}

Timeline::Span timeOf(const ChartModel& model, const StepChoice& steps) {
  if (isWholeRun(model, steps)) return model.span();
  return spanOfSteps(model.steps(), steps.first, steps.last).value_or(model.span());
}

}  // namespace pipetrace
