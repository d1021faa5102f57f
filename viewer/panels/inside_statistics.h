#pragma once

#include <QAbstractTableModel>
#include <QObject>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/inside_times.h"
#include "viewer/causes/causes.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/panels/area_statistics.h"

namespace pipetrace {

/// What the jobs of an area's compute rows are made of, where ranks meet inside them (InsideJobs).
/// Found on a thread of its own; a new area ends what is under way. Used on the GUI thread.
class InsideStatistics : public QObject {
  Q_OBJECT

 public:
  /// Both must outlive it.
  InsideStatistics(ChartWidget& chart, Causes& causes);

  /// Whether ranks of the run meet inside jobs. False while causes are not known.
  bool isThere() const { return places_ != nullptr && !places_->graph().inside().empty(); }
  /// Nothing is found before somebody wants it.
  void setWanted(bool isWanted);
  /// By rank, those with jobs in the area (insideTimesIn()). Empty while there is no area, or
  /// nothing is known yet. While an area is dragged it may be that of a moment ago.
  const std::vector<InsideTimes>& ranks() const { return ranks_; }

 signals:
  void isThereChanged();
  void ranksChanged();

 private:
  void updatePlaces();
  void updateRanks();

  ChartWidget& chart_;
  Causes& causes_;
  std::shared_ptr<const GraphPlaces> places_;
  std::vector<InsideTimes> ranks_;
  bool isWanted_ = false;
  std::uint64_t asked_ = 0;  // number of the latest area
  LatestWork work_;          // the last member, so that it stops first
};

/// These as a table: a line for each rank, and the last one, however the table is sorted, for all
/// of them. Where ranks meet in groups of more than one kind, each kind has two columns. On the GUI
/// thread.
class InsideTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kRank, kJobs, kTime, kOwnTime, kWaiting, kMoving, kLaunchBound, kFirstOfGroups };

  /// The statistics must outlive it.
  explicit InsideTable(const InsideStatistics& statistics) : statistics_(statistics) {}

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

  /// Takes over new times.
  void update();
  /// "tensor-parallel all-reduce" where all ranks meet in groups of one kind, else empty.
  QString onlyGroup() const;
  /// The table in its order as comma-separated values with a header. Times are whole nanoseconds.
  QString csv() const;

 private:
  const InsideTimes& lineOf(int row) const;
  bool isOfAll(int row) const { return row + 1 == rowCount(); }
  /// The rank, a count, or nanoseconds.
  Nanoseconds numberOf(const InsideTimes& line, int column) const;
  void sortLines();

  const InsideStatistics& statistics_;
  std::vector<InsideTimes> lines_;  // without the last one
  InsideTimes all_;
  std::vector<std::pair<std::string, JobKind>> groups_;  // that have columns
  std::optional<std::pair<std::string, JobKind>> only_;  // the kind of group, where there is one
  int sortedBy_ = kRank;
  Qt::SortOrder order_ = Qt::AscendingOrder;
};

}  // namespace pipetrace
