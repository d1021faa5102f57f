#include "analysis/run/steps/median_step.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "analysis/median.h"
#include "trace/phase.h"
#include "trace/step_windows.h"

namespace pipetrace {
namespace {

/// Takes steps of one phase.
MedianStep medianOfThose(std::vector<StepWindow> steps) {
  MedianStep result;
  if (steps.empty()) return result;
  std::vector<Nanoseconds> windows;
  std::vector<Nanoseconds> pauses;
  std::set<std::int32_t> numbers;
  std::set<std::int32_t> followed;
  for (const StepWindow& step : steps) {
    windows.push_back(step.window());
    if (step.isFollowed && !step.isWholeRun) {
      pauses.push_back(step.betweenSteps);
      followed.insert(step.step);
    }
    numbers.insert(step.step);
    result.isWholeRun = result.isWholeRun || step.isWholeRun;
  }
  result.window = medianOf(windows);
  if (!pauses.empty()) {
    result.between = medianOf(pauses);
    std::vector<Nanoseconds> walls;
    for (const StepWindow& step : steps) {
      walls.push_back(step.isFollowed ? step.wall() : step.window() + *result.between);
    }
    result.wall = medianOf(walls);
    result.areFollowed = 2 * followed.size() >= numbers.size();
  }
  result.count = numbers.size();
  const auto isShorter = [](const StepWindow& a, const StepWindow& b) {
    return std::pair(a.window(), a.step) < std::pair(b.window(), b.step);
  };
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), middle, steps.end(), isShorter);
  const Nanoseconds nearest = middle->window();
  result.step = middle->step;
  for (const StepWindow& step : steps) {
    if (step.window() == nearest) result.step = std::min(result.step, step.step);
  }
  return result;
}

template <typename Steps>
MedianStep medianOfCounted(const Steps& steps, Phase phase, const CountedSteps& counted) {
  const CountedSteps whole = counted.wholeOnes();
  std::vector<StepWindow> those;
  for (const StepWindow& step : steps) {
    if (step.phase == phase && whole.contains(step.step)) those.push_back(step);
  }
  return medianOfThose(std::move(those));
}

}  // namespace

MedianStep medianStepOf(const RunSummary& run, const CountedSteps& counted) {
  return medianOfCounted(run.steps, run.phase, counted);
}

MedianStep medianStepOf(const Timeline& timeline, const Topology& topology,
                        const CountedSteps& counted) {
  return medianOfCounted(stepWindows(timeline, topology), countedPhaseOf(timeline), counted);
}

}  // namespace pipetrace
