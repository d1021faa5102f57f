#include "chart/steps/step_span.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "trace/step_windows.h"

namespace pipetrace {

std::vector<StepSpan> stepSpans(const Timeline& timeline) {
  std::map<std::int32_t, StepSpan> byNumber;
  for (const StepWindow& window : stepWindows(timeline)) {
    const auto [at, isNew] =
        byNumber.try_emplace(window.step, StepSpan{window.step, window.begin, window.windowEnd});
    if (isNew) continue;
    at->second.begin = std::min(at->second.begin, window.begin);
    at->second.end = std::max(at->second.end, window.windowEnd);
  }
  std::vector<StepSpan> steps;
  steps.reserve(byNumber.size());
  for (const auto& [number, step] : byNumber) steps.push_back(step);
  std::sort(steps.begin(), steps.end(), [](const StepSpan& a, const StepSpan& b) {
    return std::tie(a.begin, a.step) < std::tie(b.begin, b.step);
  });
  return steps;
}

std::optional<Timeline::Span> spanOfSteps(const std::vector<StepSpan>& steps, std::int32_t first,
                                          std::int32_t last) {
  std::optional<Timeline::Span> span;
  for (const StepSpan& step : steps) {
    if (step.step < first || step.step > last) continue;
    if (!span) span = Timeline::Span{step.begin, step.end};
    span->begin = std::min(span->begin, step.begin);
    span->end = std::max(span->end, step.end);
  }
  return span;
}

}  // namespace pipetrace
