#pragma once

#include <optional>
#include <vector>

#include "chart/links/draw_path.h"
#include "viewer/causes/graph_places.h"

namespace pipetrace {

/// A step of a pipeline: indices of the pipeline and of the step's window in it.
struct StepOfPipeline {
  std::size_t pipeline = 0;
  std::size_t window = 0;
  friend auto operator<=>(const StepOfPipeline&, const StepOfPipeline&) = default;
};

/// The critical path of a step, as the chart draws it. Several threads may call it.
ChartPath chartPathOf(const GraphPlaces& places, const StepOfPipeline& step);

/// The steps of all pipelines with a part in [begin, end); nothing if they are more than `most`.
std::optional<std::vector<StepOfPipeline>> stepsIn(const Explanation& explanation,
                                                   Nanoseconds begin, Nanoseconds end,
                                                   std::size_t most);

/// The most steps whose paths are drawn at once.
inline constexpr std::size_t kMostSteps = 64;

/// Draws the critical paths of all steps in view, of all pipelines. It computes them, so it is for
/// pictures; the window has Causes::pathsIn().
void drawCriticalPath(Canvas& canvas, const ChartView& view, const Explanation& explanation);

}  // namespace pipetrace
