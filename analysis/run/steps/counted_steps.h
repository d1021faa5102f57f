#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run/steps/interval.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The steps that figures and findings are about: those that were chosen, or all. A first step that
/// takes more than kLongFirstStep times the median of the others is left out unless it was chosen:
/// compiling and connecting say nothing about the others. Steps with work that has no time are left
/// out, too, if others are left. Other steps of a run that lack jobs are
/// no measure for it.
class CountedSteps {
 public:
  static constexpr double kLongFirstStep = 1.5;

  /// A step of a pipeline.
  struct Step {
    std::int32_t number = 0;
    Nanoseconds length = 0;  ///< StepWindow::window()
    bool isWhole = true;     ///< false: jobs of it are missing
    bool isWholeRun = false;
    bool isTimed = true;  ///< false: some work of it has no time (stepsWithUntimedWork())
  };
  /// The first step, where it is left out.
  struct LeftOut {
    std::int32_t step = 0;
    Nanoseconds length = 0;  ///< of several pipelines the longest
    Nanoseconds usual = 0;   ///< the median of the others
  };

  /// All steps.
  CountedSteps() = default;
  /// `chosen`: empty for the rule above. `steps`: of all pipelines, in any order. All of an
  /// asynchronous run count, as they are one step.
  CountedSteps(std::vector<NumberRange> chosen, const std::vector<Step>& steps);

  /// The same without steps that lack jobs, if some step is whole and none was chosen.
  CountedSteps wholeOnes() const;

  bool contains(std::int32_t step) const {
    if (!chosen_.empty()) return isIn(chosen_, step);
    return (!leftOut_ || leftOut_->step != step) &&
           !std::binary_search(lacking_.begin(), lacking_.end(), step) &&
           !std::binary_search(untimed_.begin(), untimed_.end(), step);
  }
  bool areAll() const {
    return chosen_.empty() && !leftOut_ && lacking_.empty() && untimed_.empty();
  }
  const std::optional<LeftOut>& leftOut() const { return leftOut_; }
  /// "step 0 takes 3.400 s, 5.00 times the median of the others, and is left out"; empty: no step
  /// is. A sentence without a full stop.
  std::string leftOutText() const;
  /// "work has no time in 1 step, which is left out"; empty: that is so in none. A sentence without
  /// a full stop.
  std::string untimedText() const;
  /// These, and how many steps wholeOnes() left out, as sentences without full stops.
  std::vector<std::string> leftOutTexts() const;

 private:
  std::vector<NumberRange> chosen_;
  std::optional<LeftOut> leftOut_;
  std::vector<std::int32_t> incomplete_;  // ascending; none if no step is whole
  std::vector<std::int32_t> lacking_;     // those of them that are left out
  std::vector<std::int32_t> untimed_;     // ascending; none if no other step is whole
};

/// "jobs are missing in 5 steps, which are left out": a sentence without a full stop.
std::string incompleteStepsText(std::size_t steps);

}  // namespace pipetrace
