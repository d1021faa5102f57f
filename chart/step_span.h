#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The window of one step over all ranks, as docs/metrics.md defines it: from the first start of
/// its compute jobs (isCompute) to the last end of its compute and optimizer jobs, cut where the
/// step that begins next begins. Windows do not overlap.
struct StepSpan {
  std::int32_t step = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

/// The steps that have compute jobs, in the order of their begins.
std::vector<StepSpan> stepSpans(const Timeline& timeline);

/// From the first begin to the last end of the steps numbered `first` to `last`; nothing if there
/// are none.
std::optional<Timeline::Span> spanOfSteps(const std::vector<StepSpan>& steps, std::int32_t first,
                                          std::int32_t last);

}  // namespace pipetrace
