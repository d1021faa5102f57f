#pragma once

#include <QObject>
#include <QThreadPool>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "viewer/causes/chart_paths.h"

namespace pipetrace {

/// The critical paths of steps. They are computed on a thread of their own, and kept as long as
/// there are not too many. Used on the GUI thread; the destructor waits for the thread.
class PathCache : public QObject {
  Q_OBJECT

 public:
  explicit PathCache(QObject* parent = nullptr);
  ~PathCache() override;

  /// Forgets all paths. Those of `places` are next; none for nullptr. The thread may hold the older
  /// ones a little longer.
  void clear(std::shared_ptr<const GraphPlaces> places);
  /// The path of a step; null until it is computed, which begins now if it has not yet. Valid until
  /// the next call.
  const ChartPath* find(const StepOfPipeline& step);

 signals:
  /// Another path is there.
  void found();

 private:
  struct Kept {
    std::shared_ptr<const ChartPath> path;
    std::uint64_t usedAt = 0;
  };

  void keep(const StepOfPipeline& step, std::shared_ptr<const ChartPath> path);

  std::shared_ptr<const GraphPlaces> places_;
  std::map<StepOfPipeline, Kept> paths_;
  std::set<StepOfPipeline> asked_;
  std::size_t parts_ = 0;  // of all paths
  std::uint64_t clock_ = 0;
  QThreadPool thread_;
};

}  // namespace pipetrace
