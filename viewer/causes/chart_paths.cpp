#include "viewer/causes/chart_paths.h"

#include <algorithm>
#include <limits>

#include "chart/text/bubble_text.h"

namespace pipetrace {
namespace {

std::string wordsOf(BubbleClass cause) {
  return cause == BubbleClass::kUnknown ? "unknown wait" : bubbleClassWords(cause);
}

}  // namespace

ChartPath chartPathOf(const GraphPlaces& places, const StepOfPipeline& step) {
  const RunBasis& basis = *places.explanation().basis;
  const PipelineBasis& pipeline = basis.pipelines()[step.pipeline];
  const StepPath path = criticalPathOf(basis, pipeline, pipeline.windows[step.window]);
  ChartPath result{.step = path.step, .parts = {}};
  result.parts.reserve(path.links.size());
  for (const StepPath::Link& link : path.links) {
    const bool isFirst = &link == &path.links.front();
    result.parts.push_back({.spot = places.spotOf(link.node).value_or(EventSpot{}),
                            .begin = link.begin,
                            .end = link.end,
                            .wait = link.wait,
                            .waitWords = isFirst ? "before" : wordsOf(link.cause)});
  }
  return result;
}

std::optional<std::vector<StepOfPipeline>> stepsIn(const Explanation& explanation,
                                                   Nanoseconds begin, Nanoseconds end,
                                                   std::size_t most) {
  std::vector<StepOfPipeline> steps;
  const auto& pipelines = explanation.basis->pipelines();
  for (std::size_t p = 0; p < pipelines.size(); ++p) {
    const auto& windows = pipelines[p].windows;
    const auto first =
        std::partition_point(windows.begin(), windows.end(),
                             [&](const auto& window) { return window.span.end <= begin; });
    for (auto window = first; window != windows.end() && window->span.begin < end; ++window) {
      if (steps.size() == most) return std::nullopt;
      steps.push_back({p, static_cast<std::size_t>(window - windows.begin())});
    }
  }
  return steps;
}

void drawCriticalPath(Canvas& canvas, const ChartView& view, const Explanation& explanation) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  const auto steps = stepsIn(explanation, view.axis.begin(), view.axis.end(), kAll);
  const GraphPlaces places(explanation, view.model);
  std::vector<ChartPath> paths;
  for (const StepOfPipeline& step : *steps) paths.push_back(chartPathOf(places, step));
  std::vector<const ChartPath*> all;
  for (const ChartPath& path : paths) all.push_back(&path);
  drawCriticalPath(canvas, view, all, kAll);
}

}  // namespace pipetrace
