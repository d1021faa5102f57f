#include "chart/steps/step_columns.h"

#include <algorithm>

namespace pipetrace {
namespace {

Nanoseconds durationOf(const StepSpan& step) { return step.end - step.begin; }

/// Adds the means of the column's steps.
void measure(StepColumn& column, const std::vector<StepSpan>& steps,
             const std::map<std::int32_t, double>& bubbleRatios) {
  double sum = 0;
  double known = 0;  // duration of the steps with a bubble ratio
  double idle = 0;
  column.longest = column.first;
  for (std::size_t i = column.first; i < column.first + column.count; ++i) {
    const auto duration = static_cast<double>(durationOf(steps[i]));
    sum += duration;
    if (durationOf(steps[i]) > durationOf(steps[column.longest])) column.longest = i;
    const auto ratio = bubbleRatios.find(steps[i].step);
    if (ratio == bubbleRatios.end()) continue;
    known += duration;
    idle += duration * ratio->second;
  }
  column.mean = static_cast<Nanoseconds>(sum / static_cast<double>(column.count) + 0.5);
  if (known > 0) column.bubbleRatio = idle / known;
}

}  // namespace

std::vector<StepColumn> stepColumns(const std::vector<StepSpan>& steps,
                                    const std::map<std::int32_t, double>& bubbleRatios,
                                    const TimeAxis& axis) {
  std::vector<StepColumn> columns;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const int left = axis.xOf(steps[i].begin);
    const int right = std::max(axis.xOf(steps[i].end), left + 1);
    const bool isWide = right - left >= kMinStepWidth;
    // A step that begins in a pixel of the column before shares it.
    if (!columns.empty() && left < columns.back().right &&
        (!isWide || left <= columns.back().left)) {
      ++columns.back().count;
      columns.back().right = std::max(columns.back().right, right);
      continue;
    }
    if (!columns.empty()) columns.back().right = std::min(columns.back().right, left);
    columns.push_back({left, right, i, 1, i, 0, {}});
  }
  for (StepColumn& column : columns) measure(column, steps, bubbleRatios);
  return columns;
}

}  // namespace pipetrace
