#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chart/steps/step_span.h"

namespace pipetrace {

// Both are about countedSteps().

/// The longest step, the first of several; nothing without steps.
std::optional<StepSpan> slowestStep(const std::vector<StepSpan>& steps);

/// The step whose length is the median of all lengths; of an even number of steps the shorter of
/// the middle two. Nothing without steps.
std::optional<StepSpan> medianStep(const std::vector<StepSpan>& steps);

/// Steps by their numbers in the log, both ends included.
struct StepChoice {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

}  // namespace pipetrace
