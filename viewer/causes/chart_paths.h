#pragma once

#include <QObject>
#include <QThreadPool>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
