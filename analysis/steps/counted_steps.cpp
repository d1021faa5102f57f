#include "analysis/steps/counted_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/median.h"
#include "analysis/ratio.h"
#include "analysis/steps/incomplete_steps.h"
#include "trace/phase.h"
#include "trace/text/decimal_time.h"
#include "trace/text/factor_text.h"
#include "trace/topology.h"

namespace pipetrace {

CountedSteps::CountedSteps(std::vector<NumberRange> chosen, const std::vector<Step>& steps) {
  const bool isOneStep =
      std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.isWholeRun; });
  if (isOneStep) return;
  chosen_ = std::move(chosen);
  if (!chosen_.empty()) return;
  std::map<std::int32_t, Step> byNumber;
  for (const Step& step : steps) {
    Step& sum = byNumber.try_emplace(step.number, step).first->second;
    sum.length = std::max(sum.length, step.length);
    sum.isWhole = sum.isWhole && step.isWhole;
  }
  std::vector<Nanoseconds> others;
  for (auto each = byNumber.begin(); each != byNumber.end(); ++each) {
    if (each != byNumber.begin() && each->second.isWhole) others.push_back(each->second.length);
  }
  if (others.empty()) return;
  const Nanoseconds usual = medianOf(others);
  const Step& first = byNumber.begin()->second;
  if (ratio(first.length, usual) <= kLongFirstStep) return;
  leftOut_ = LeftOut{first.number, first.length, usual};
}

std::string CountedSteps::leftOutText() const {
  if (!leftOut_) return {};
  return "step " + std::to_string(leftOut_->step) + " takes " + formatDuration(leftOut_->length) +
         ", " + factorText(ratio(leftOut_->length, leftOut_->usual)) +
         " times the median of the others, and is left out";
}

CountedSteps countedStepsOf(const Timeline& timeline, std::vector<NumberRange> chosen) {
  const Phase phase = countedPhaseOf(timeline);
  const std::vector<std::int32_t> incomplete = incompleteSteps(timeline, topologyOf(timeline));
  std::vector<CountedSteps::Step> steps;
  for (const StepWindow& step : stepWindows(timeline)) {
    if (step.phase != phase) continue;
    const bool isWhole = !std::binary_search(incomplete.begin(), incomplete.end(), step.step);
    steps.push_back({step.step, step.duration(), isWhole, step.isWholeRun});
  }
  return {std::move(chosen), steps};
}

}  // namespace pipetrace
