#pragma once

#include <QAbstractTableModel>
#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>
#include <QTableView>
#include <QWidget>
#include <vector>

#include "viewer/panels/area_statistics.h"
#include "viewer/panels/histogram_view.h"
#include "viewer/panels/inside_statistics.h"
#include "viewer/panels/pivot_table.h"

namespace pipetrace {

/// The statistics of an area as a table: a line for each kind, stage, rank or bubble class. The
/// last line, however the table is sorted, is for all of them. On the GUI thread.
class StatisticsTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kName,
    kCount,
    kOwnTime,
    kTime,  ///< with the events inside
    kShare,
    kMean,
    kMedian,
    kP90,
    kP99,
    kShortest,
    kLongest,
    kColumns
  };

  /// The statistics must outlive it.
  explicit StatisticsTable(const AreaStatistics& statistics);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

  /// Takes over new sums.
  void updateSums();
  /// Shows new percentiles.
  void updatePercentiles();

  /// The name of the line in that row: "forward", "rank 3"; "all".
  QString nameOf(int row) const;
  /// The percentiles of a row; null while they are not known.
  const LinePercentiles* percentilesOf(int row) const;
  /// The table in its order as comma-separated values with a header. Times are whole nanoseconds.
  QString csv() const;

 private:
  struct Line {
    std::optional<std::int32_t> line;
    EventSums sums;
  };

  /// A value to sort by and to write: a count, or nanoseconds. Nothing: not known yet.
  std::optional<double> numberOf(const Line& line, int column) const;
  QString textOf(const Line& line, int column) const;
  void sortLines();

  const AreaStatistics& statistics_;
  StatisticsBy by_ = StatisticsBy::kKind;  // what the lines are
  std::vector<Line> lines_;                // without the last one
  Line all_;
  int sortedBy_ = kOwnTime;
  Qt::SortOrder order_ = Qt::DescendingOrder;
};

/// The statistics of a chart's area: a table by kind, stage, rank or bubble class, and the
/// durations of the selected line. One more choice is a table of kinds by rank. Where ranks meet
/// inside jobs, also what these are made of.
class StatisticsPanel : public QWidget {
  Q_OBJECT

 public:
  /// Both must outlive it.
  StatisticsPanel(ChartWidget& chart, Causes& causes);

 public slots:
  /// Puts the table on the clipboard as comma-separated values.
  void copyCsv();

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void setUp(QTableView& view, QAbstractTableModel& table, const QString& name);
  void layOut();
  void choose(int by);
  void chooseEvents(int of);
  void showCurrent();
  void offerInside();
  void updateSums();
  void updatePercentiles();
  void showHistogram();
  QString summary() const;

  ChartWidget& chart_;
  AreaStatistics statistics_;
  StatisticsTable table_;
  InsideStatistics inside_;
  InsideTable insideTable_;
  QComboBox* by_;
  QComboBox* of_;
  QLabel* summary_;
  QStackedWidget* pages_;
  QTableView* view_;
  QTableView* insideView_;
  PivotTable pivot_;
  QTableView* pivotView_;
  std::vector<StatisticsOf> chosen_;  // which events, by the choice of lines
  HistogramView* histogram_;
};

}  // namespace pipetrace
