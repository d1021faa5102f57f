#include "viewer/causes/chart_paths.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "chart/text/bubble_text.h"

namespace pipetrace {
namespace {

std::string wordsOf(BubbleClass cause) {
  return cause == BubbleClass::kUnknown ? "unknown wait" : bubbleClassWords(cause);
}

/// The most parts of paths that are kept; they take some 100 MB.
constexpr std::size_t kMostParts = 2'000'000;

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

PathCache::PathCache(QObject* parent) : QObject(parent) { thread_.setMaxThreadCount(1); }

PathCache::~PathCache() {
  thread_.clear();
  thread_.waitForDone();
}

void PathCache::clear(std::shared_ptr<const GraphPlaces> places) {
  thread_.clear();
  places_ = std::move(places);
  paths_.clear();
  asked_.clear();
  parts_ = 0;
}

const ChartPath* PathCache::find(const StepOfPipeline& step) {
  if (!places_) return nullptr;
  const auto kept = paths_.find(step);
  if (kept != paths_.end()) {
    kept->second.usedAt = ++clock_;
    return kept->second.path.get();
  }
  if (!asked_.insert(step).second) return nullptr;
  thread_.start([this, step, places = places_] {
    auto path = std::make_shared<const ChartPath>(chartPathOf(*places, step));
    QMetaObject::invokeMethod(this, [this, step, places, path] {
      if (places == places_) keep(step, path);
    });
  });
  return nullptr;
}

void PathCache::keep(const StepOfPipeline& step, std::shared_ptr<const ChartPath> path) {
  asked_.erase(step);
  parts_ += path->parts.size();
  paths_[step] = {std::move(path), ++clock_};
  while (parts_ > kMostParts && paths_.size() > kMostSteps) {
    const auto oldest = std::min_element(
        paths_.begin(), paths_.end(),
        [](const auto& a, const auto& b) { return a.second.usedAt < b.second.usedAt; });
    parts_ -= oldest->second.path->parts.size();
    paths_.erase(oldest);
  }
  emit found();
}

}  // namespace pipetrace
