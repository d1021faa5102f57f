#pragma once

#include <QAbstractTableModel>
#include <map>
#include <optional>
#include <vector>

#include "chart/statistics/area_sums.h"

namespace pipetrace {

/// The own times of an area by rank and kind: a line for each rank, a column for each kind, jobs
/// first. The last line, however the table is sorted, is for all ranks. On the GUI thread.
class PivotTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kRank = 0;  ///< the first column; those of kinds follow

  /// Takes over sums; nothing for null. They need not live on.
  void update(const AreaSums* sums, StatisticsOf of);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;
  /// The table in its order as comma-separated values with a header. Times are whole nanoseconds.
  QString csv() const;

 private:
  struct Line {
    std::optional<int> rank;  // nothing: all
    std::map<JobKind, EventSums> kinds;
  };
  const Line& lineOf(int row) const;
  EventSums sumsOf(const Line& line, int column) const;
  void sortLines();

  std::vector<Line> lines_;  // without the last one
  Line all_;
  std::vector<JobKind> kinds_;
  int sortedBy_ = kRank;
  Qt::SortOrder order_ = Qt::AscendingOrder;
};

}  // namespace pipetrace
