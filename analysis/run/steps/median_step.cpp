#include "analysis/run/steps/median_step.h"

#include <algorithm>
#include <map>
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

/// A step of all pipelines.
struct WholeStep {
  Nanoseconds begin = kNsMax;
  Nanoseconds end = kNsMin;   // of the windows
  Nanoseconds next = kNsMax;  // where the next step begins; kNsMax: none follows
};

template <typename Steps>
MeanStep meanOfCounted(const Steps& steps, Phase phase, const CountedSteps& counted) {
  std::map<std::int32_t, WholeStep> whole;
  for (const StepWindow& step : steps) {
    if (step.phase != phase || !counted.contains(step.step)) continue;
    WholeStep& all = whole[step.step];
    all.begin = std::min(all.begin, step.begin);
    all.end = std::max(all.end, step.windowEnd);
    const bool isFollowed = step.isFollowed && !step.isWholeRun;
    if (isFollowed) all.next = std::min(all.next, step.begin + step.wall());
  }
  MeanStep mean;
  double walls = 0;
  double followed = 0;
  for (const auto& [number, step] : whole) {
    mean.window += static_cast<double>(std::min(step.end, step.next) - step.begin);
    if (step.next == kNsMax) continue;
    walls += static_cast<double>(step.next - step.begin);
    ++followed;
  }
  if (!whole.empty()) mean.window /= static_cast<double>(whole.size());
  if (followed > 0) mean.wall = walls / followed;
  return mean;
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

MeanStep meanStepOf(const RunSummary& run, const CountedSteps& counted) {
  return meanOfCounted(run.steps, run.phase, counted);
}

MeanStep meanStepOf(const Timeline& timeline, const Topology& topology,
                    const CountedSteps& counted) {
  return meanOfCounted(stepWindows(timeline, topology), countedPhaseOf(timeline), counted);
}

}  // namespace pipetrace
