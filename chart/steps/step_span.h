#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/step_windows.h"
#include "trace/timeline.h"

namespace pipetrace {

/// One step as a chart draws it, over all ranks: from the first begin to the last end of its
/// windows (StepWindow), one of each replica. With one replica it is the window itself, and spans
/// do not overlap. With several they may: one replica may be in the next step while another is in
/// this one.
struct StepSpan {
  std::int32_t step = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  Phase phase = Phase::kTraining;
};

/// "12", "12 (evaluate)".
std::string numberText(const StepSpan& step);

/// The steps that have compute jobs, in the order of their begins.
std::vector<StepSpan> stepSpans(const Timeline& timeline);
/// The same, given stepWindows() of the timeline.
std::vector<StepSpan> stepSpans(const std::vector<StepWindow>& windows);

/// From the first begin to the last end of the steps numbered `first` to `last`; nothing if there
/// are none.
std::optional<Timeline::Span> spanOfSteps(const std::vector<StepSpan>& steps, std::int32_t first,
                                          std::int32_t last);

/// Those that figures are about (countedPhaseOf()).
std::vector<StepSpan> countedSteps(const std::vector<StepSpan>& steps);

/// The median duration of countedSteps(), of an even count the lower one; 0 without steps.
Nanoseconds medianDuration(const std::vector<StepSpan>& steps);

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
