#include "analysis/run/steps/counted_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/median.h"
#include "analysis/ratio.h"
#include "analysis/run/steps/incomplete_steps.h"
#include "trace/phase.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

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
    sum.isTimed = sum.isTimed && step.isTimed;
  }
  bool isOneLeft = false;
  for (const auto& [number, step] : byNumber) {
    if (!step.isTimed) untimed_.push_back(number);
    isOneLeft = isOneLeft || (step.isTimed && step.isWhole);
  }
  if (!isOneLeft) untimed_.clear();
  for (const std::int32_t step : untimed_) byNumber.erase(step);
  for (const auto& [number, step] : byNumber) {
    if (!step.isWhole) incomplete_.push_back(number);
  }
  if (incomplete_.size() == byNumber.size()) incomplete_.clear();
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

std::string CountedSteps::untimedText() const {
  if (untimed_.empty()) return {};
  return "work has no time in " +
         countText(untimed_.size(), "step, which is left out", "steps, which are left out");
}

CountedSteps CountedSteps::wholeOnes() const {
  CountedSteps whole = *this;
  whole.lacking_ = incomplete_;
  return whole;
}

std::vector<std::string> CountedSteps::leftOutTexts() const {
  std::vector<std::string> texts;
  if (leftOut_) texts.push_back(leftOutText());
  if (!untimed_.empty()) texts.push_back(untimedText());
  if (!lacking_.empty()) texts.push_back(incompleteStepsText(lacking_.size()));
  return texts;
}

std::string incompleteStepsText(std::size_t steps) {
  return "jobs are missing in " +
         countText(steps, "step, which is left out", "steps, which are left out");
}

}  // namespace pipetrace
