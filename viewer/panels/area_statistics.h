#pragma once

#include <QObject>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "chart/statistics/percentiles.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// Does pieces of work on a thread of its own, one at a time. Only the latest counts: a new one
/// takes the place of the one that waits, and asks the one that runs to stop. All functions are for
/// one thread, such as the GUI's.
class LatestWork {
 public:
  /// Should return soon after `stop` is set. Must not throw.
  using Work = std::function<void(const std::atomic<bool>& stop)>;

  LatestWork() = default;
  LatestWork(const LatestWork&) = delete;
  LatestWork& operator=(const LatestWork&) = delete;
  /// As stop().
  ~LatestWork();

  void start(Work work);
  /// Drops all work, without a wait for the end of the one that runs.
  void cancel();
  /// As cancel(), and waits.
  void stop();

 private:
  struct Piece {
    Work work;
    std::atomic<bool> stop = false;
  };

  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Piece> next_;
  std::shared_ptr<Piece> running_;
  bool isEnding_ = false;
  std::thread thread_;  // from the first start() on
};

/// The statistics of a chart's area, found on threads of their own: sums first, then percentiles as
/// they come. A new area or another choice of lines ends what is under way. Used on the GUI thread.
class AreaStatistics : public QObject {
  Q_OBJECT

 public:
  /// The chart must outlive it.
  explicit AreaStatistics(ChartWidget& chart);
  ~AreaStatistics() override;

  StatisticsBy by() const { return by_; }
  StatisticsOf of() const { return of_; }
  void choose(StatisticsBy by, StatisticsOf of);
  /// Null while there is no area, or its sums are not known yet. While an area is dragged, they may
  /// be those of a moment ago.
  const AreaSums* sums() const { return sums_.get(); }
  /// Those that are known already, by line; nothing: of all lines together. None while the area is
  /// being dragged.
  const std::map<std::optional<std::int32_t>, LinePercentiles>& percentiles() const {
    return percentiles_;
  }

 signals:
  /// The percentiles are not known yet.
  void sumsChanged();
  void percentilesChanged();

 private:
  struct Index;

  void forget();
  void updateSums();
  void updatePercentiles();

  ChartWidget& chart_;
  StatisticsBy by_ = StatisticsBy::kKind;
  StatisticsOf of_ = StatisticsOf::kAll;
  std::shared_ptr<Index> index_;  // made on the thread of the sums
  std::shared_ptr<const AreaSums> sums_;
  std::map<std::optional<std::int32_t>, LinePercentiles> percentiles_;
  bool areOfModel_ = false;  // the sums, not of a model before
  std::uint64_t asked_ = 0;  // number of the latest area
  std::uint64_t askedPercentiles_ = 0;
  LatestWork sumsWork_;  // the last members, so that they stop first
  LatestWork percentilesWork_;
};

}  // namespace pipetrace
