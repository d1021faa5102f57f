#pragma once

#include <map>
#include <optional>
#include <vector>

#include "chart/steps/step_span.h"
#include "chart/time_axis.h"

namespace pipetrace {

/// Some steps as one bar of an overview: a step that is wide enough by itself, or all that begin in
/// one pixel.
struct StepColumn {
  int left = 0;             ///< pixels; they do not overlap
  int right = 0;            ///< beyond its last pixel
  std::size_t first = 0;    ///< position of its first step
  std::size_t count = 0;    ///< its steps follow each other
  std::size_t longest = 0;  ///< position of the longest step, of several the first
  Nanoseconds mean = 0;     ///< of the durations
  /// The mean of the steps that have one, weighted by their durations.
  std::optional<double> bubbleRatio;
};

/// The least width in pixels of a step with a bar of its own.
inline constexpr int kMinStepWidth = 3;

/// Puts the steps, which come in the order of their begins, along the axis. `bubbleRatios`: by the
/// numbers of steps.
std::vector<StepColumn> stepColumns(const std::vector<StepSpan>& steps,
                                    const std::map<std::int32_t, double>& bubbleRatios,
                                    const TimeAxis& axis);

}  // namespace pipetrace
