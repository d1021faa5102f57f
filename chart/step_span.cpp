#include "chart/step_span.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace pipetrace {

std::vector<StepSpan> stepSpans(const Timeline& timeline) {
  std::map<std::int32_t, StepSpan> byNumber;
  StepSpan* current = nullptr;  // neighbours are mostly of one step
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      const bool compute = isCompute(event.kind);
      if (event.step < 0 || (!compute && event.kind != JobKind::kOptimizer)) continue;
      if (current == nullptr || current->step != event.step) {
        current =
            &byNumber.try_emplace(event.step, StepSpan{event.step, kNsMax, kNsMin}).first->second;
      }
      if (compute) current->begin = std::min(current->begin, event.begin);
      current->end = std::max(current->end, event.end);
    }
  }
  std::vector<StepSpan> steps;
  steps.reserve(byNumber.size());
  for (const auto& [number, step] : byNumber) {
    if (step.begin != kNsMax) steps.push_back(step);  // an optimizer alone makes no step
  }
  std::sort(steps.begin(), steps.end(), [](const StepSpan& a, const StepSpan& b) {
    return std::tie(a.begin, a.step) < std::tie(b.begin, b.step);
  });
  for (std::size_t i = 1; i < steps.size(); ++i) {
    steps[i - 1].end = std::min(steps[i - 1].end, steps[i].begin);
  }
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
