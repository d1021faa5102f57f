#include "chart/steps/step_span.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace pipetrace {
namespace {

bool isShorter(const StepSpan& a, const StepSpan& b) { return a.end - a.begin < b.end - b.begin; }

}  // namespace

std::vector<StepSpan> stepSpans(const Timeline& timeline) {
  return stepSpans(stepWindows(timeline));
}

std::vector<StepSpan> stepSpans(const std::vector<StepWindow>& windows) {
  std::map<std::pair<std::int32_t, Phase>, StepSpan> byNumber;
  for (const StepWindow& window : windows) {
    const auto [at, isNew] =
        byNumber.try_emplace({window.step, window.phase},
                             StepSpan{window.step, window.begin, window.windowEnd, window.phase});
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

std::string numberText(const StepSpan& step) {
  const std::string number = std::to_string(step.step);
  if (step.phase == Phase::kTraining) return number;
  return number + " (" + std::string(logName(step.phase)) + ")";
}

std::vector<StepSpan> countedSteps(const std::vector<StepSpan>& steps) {
  std::vector<StepSpan> counted;
  for (const StepSpan& step : steps) {
    if (!counted.empty() && step.phase > counted.front().phase) continue;
    if (!counted.empty() && step.phase < counted.front().phase) counted.clear();
    counted.push_back(step);
  }
  return counted;
}

Nanoseconds medianDuration(const std::vector<StepSpan>& steps) {
  if (steps.empty()) return 0;
  std::vector<Nanoseconds> durations;
  for (const StepSpan& step : countedSteps(steps)) durations.push_back(step.end - step.begin);
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>((durations.size() - 1) / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
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

std::optional<StepSpan> slowestStep(const std::vector<StepSpan>& all) {
  const std::vector<StepSpan> steps = countedSteps(all);
  const auto longest = std::max_element(steps.begin(), steps.end(), isShorter);
  if (longest == steps.end()) return std::nullopt;
  return *longest;
}

std::optional<StepSpan> medianStep(const std::vector<StepSpan>& steps) {
  if (steps.empty()) return std::nullopt;
  std::vector<StepSpan> byLength = countedSteps(steps);
  std::stable_sort(byLength.begin(), byLength.end(), isShorter);
  return byLength[(byLength.size() - 1) / 2];
}

}  // namespace pipetrace
