#include "viewer/panels/area_statistics.h"

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

namespace pipetrace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBetweenMessages = std::chrono::milliseconds(40);

}  // namespace

LatestWork::~LatestWork() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    isEnding_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LatestWork::start(Work work) {
  auto piece = std::make_shared<Piece>();
  piece->work = std::move(work);
  {
    const std::lock_guard lock(mutex_);
    if (running_) running_->stop = true;
    next_ = std::move(piece);
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void LatestWork::cancel() {
  const std::lock_guard lock(mutex_);
  next_.reset();
  if (running_) running_->stop = true;
}

void LatestWork::stop() {
  std::unique_lock lock(mutex_);
  next_.reset();
  if (running_) running_->stop = true;
  changed_.wait(lock, [this] { return running_ == nullptr; });
}

void LatestWork::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return isEnding_ || next_ != nullptr; });
    if (isEnding_) return;
    running_ = std::move(next_);
    next_.reset();
    const std::shared_ptr<Piece> piece = running_;
    lock.unlock();
    piece->work(piece->stop);
    piece->work = nullptr;  // with all that it holds
    lock.lock();
    running_.reset();
    changed_.notify_all();
  }
}

/// Sums over the blocks of a run, made when the first area asks for them.
struct AreaStatistics::Index {
  std::unique_ptr<const StatisticsIndex> blocks;
  std::atomic<bool> isUnwanted = false;  // the model goes
};

AreaStatistics::AreaStatistics(ChartWidget& chart) : chart_(chart) {
  connect(&chart, &ChartWidget::modelChanged, this, &AreaStatistics::forget);
  connect(&chart, &ChartWidget::areaChanged, this, &AreaStatistics::updateSums);
}

AreaStatistics::~AreaStatistics() = default;

/// The old model goes: nothing may read it any more. The table stays as it is until the area
/// changes.
void AreaStatistics::forget() {
  // Another area does not stop the making of the index: the next one needs it.
  if (index_) index_->isUnwanted = true;
  percentilesWork_.stop();
  sumsWork_.stop();
  index_.reset();
  ++asked_;  // what is on its way is of the old model
  ++askedPercentiles_;
  areOfModel_ = false;
}

void AreaStatistics::choose(StatisticsBy by, StatisticsOf of) {
  if (by == by_ && of == of_) return;
  by_ = by;
  of_ = of;
  updatePercentiles();
}

void AreaStatistics::updateSums() {
  ++asked_;
  if (!chart_.area()) {
    sumsWork_.cancel();
    sums_.reset();
    return updatePercentiles();
  }
  if (!index_) index_ = std::make_shared<Index>();
  const ChartModel& model = *chart_.model();
  sumsWork_.start([this, index = index_, timeline = &model.timeline(), number = asked_,
                   area = tracksOf(model, *chart_.area())](const std::atomic<bool>& stop) {
    try {
      if (!index->blocks) {
        auto blocks = std::make_unique<const StatisticsIndex>(*timeline, 0, &index->isUnwanted);
        if (index->isUnwanted) return;
        index->blocks = std::move(blocks);
      }
      if (stop) return;
      auto sums = std::make_shared<const AreaSums>(sumsOf(*index->blocks, area, 0, stop));
      if (stop) return;
      QMetaObject::invokeMethod(
          this,
          [this, sums, number] {
            if (number != asked_) return;
            sums_ = sums;
            areOfModel_ = true;
            updatePercentiles();
          },
          Qt::QueuedConnection);
    } catch (const std::exception&) {
      // No memory: the table stays as it was.
    }
  });
}

void AreaStatistics::updatePercentiles() {
  percentiles_.clear();
  emit sumsChanged();
  const std::uint64_t number = ++askedPercentiles_;
  // While an area is dragged its sums are enough.
  if (!sums_ || !areOfModel_ || chart_.isDraggingArea()) return percentilesWork_.cancel();
  percentilesWork_.start([this, index = index_, sums = sums_, by = by_, of = of_,
                          number](const std::atomic<bool>& stop) {
    std::vector<LinePercentiles> found;
    Clock::time_point sent = Clock::now();
    const auto send = [&] {
      if (found.empty() || stop) return;
      sent = Clock::now();
      QMetaObject::invokeMethod(
          this,
          [this, number, lines = std::exchange(found, {})]() mutable {
            if (number != askedPercentiles_) return;
            for (LinePercentiles& line : lines) {
              const auto key = line.line;
              percentiles_[key] = std::move(line);
            }
            emit percentilesChanged();
          },
          Qt::QueuedConnection);
    };
    try {
      findPercentiles(*index->blocks, *sums, by, of, 0, stop, [&](LinePercentiles line) {
        found.push_back(std::move(line));
        if (Clock::now() - sent >= kBetweenMessages) send();
      });
      send();
    } catch (const std::exception&) {
      // No memory for the durations: the table shows sums only.
    }
  });
}

}  // namespace pipetrace
