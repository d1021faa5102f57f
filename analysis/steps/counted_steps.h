#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/steps/number_range.h"
#include "trace/step_windows.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The steps that figures and findings are about: those that were chosen, or all. A first step that
/// takes more than kLongFirstStep times the median of the others is left out unless it was chosen:
/// compiling and connecting say nothing about the others. Other steps of a run that lack jobs are
/// no measure for it.
class CountedSteps {
 public:
  static constexpr double kLongFirstStep = 1.5;

  /// A step of a pipeline.
  struct Step {
    std::int32_t number = 0;
    Nanoseconds length = 0;  ///< StepWindow::duration()
    bool isWhole = true;     ///< false: jobs of it are missing
    bool isWholeRun = false;
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

  bool contains(std::int32_t step) const {
    if (!chosen_.empty()) return isIn(chosen_, step);
    return !leftOut_ || leftOut_->step != step;
  }
  bool areAll() const { return chosen_.empty() && !leftOut_; }
  const std::optional<LeftOut>& leftOut() const { return leftOut_; }
  /// "step 0 takes 3.400 s, 5.00 times the median of the others, and is left out"; empty: no step
  /// is. A sentence without a full stop.
  std::string leftOutText() const;

 private:
  std::vector<NumberRange> chosen_;
  std::optional<LeftOut> leftOut_;
};

/// Those of a completed timeline, of the phase that counts (countedPhaseOf()). `chosen`: as of
/// CountedSteps.
CountedSteps countedStepsOf(const Timeline& timeline, std::vector<NumberRange> chosen = {});

}  // namespace pipetrace
