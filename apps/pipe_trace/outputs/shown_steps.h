#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run_summary.h"
#include "analysis/steps/interval.h"
#include "chart/steps/step_span.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The steps of a run that a chart shows, and their names and figures as text.
class ShownSteps {
 public:
  /// Chooses those that `wanted` names or, if it is empty, the last that is complete. Throws Error
  /// when the run has none of them.
  ShownSteps(const Timeline& timeline, const std::vector<NumberRange>& wanted);

  /// From the start of the first to the end of the last.
  Timeline::Span span() const;
  /// Their numbers, a range each.
  std::vector<NumberRange> numbers() const;
  /// "step 3 of 0 to 4".
  std::string names() const;
  /// names(), their length and their bubble ratio. `summary` is of these steps alone.
  std::string headline(const RunSummary& summary) const;

 private:
  std::vector<StepSpan> all_;
  std::vector<StepSpan> shown_;  // in the order of their starts
};

}  // namespace pipetrace
