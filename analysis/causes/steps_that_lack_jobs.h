#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run/bubbles/run_basis.h"
#include "analysis/run/steps/counted_steps.h"
#include "analysis/run/steps/interval.h"

namespace pipetrace {

/// The steps that count though jobs of them are missing, as where a log was cut off. The idle
/// time of ranks that wait for these jobs is `unknown`.
struct StepsThatLackJobs {
  std::vector<std::int32_t> steps;  ///< ascending; a step of several pipelines is one
  /// The longest stretch of steps that count and have all their jobs, the first of several as long.
  /// Empty: no step has.
  std::optional<NumberRange> whole;

  /// "jobs are missing in 2 steps": a sentence without a full stop.
  std::string text() const;
  /// "leave these out with --steps 0:2", without a full stop; empty where no step is whole.
  std::string leaveOutText() const;
};

StepsThatLackJobs stepsThatLackJobs(const RunBasis& basis, const CountedSteps& counted);

}  // namespace pipetrace
