#include "viewer/causes/path_cache.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

/// The most parts of paths that are kept; they take some 100 MB.
constexpr std::size_t kMostParts = 2'000'000;

}  // namespace

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
