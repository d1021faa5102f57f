#include "chart/steps/notable_steps.h"

#include <algorithm>

namespace pipetrace {
namespace {

bool isShorter(const StepSpan& a, const StepSpan& b) { return a.end - a.begin < b.end - b.begin; }

}  // namespace

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
