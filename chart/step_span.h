#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// When the jobs of one step ran, over all ranks. Steps may overlap.
struct StepSpan {
  std::int32_t step = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

/// The steps of the compute lanes' jobs, in the order of their begins.
std::vector<StepSpan> stepSpans(const Timeline& timeline);

/// From the first begin to the last end of the steps numbered `first` to `last`; nothing if there
/// are none.
std::optional<Timeline::Span> spanOfSteps(const std::vector<StepSpan>& steps, std::int32_t first,
                                          std::int32_t last);

}  // namespace pipetrace
