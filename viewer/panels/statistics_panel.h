#pragma once

#include <QComboBox>
#include <QLabel>
#include <QTableView>
#include <QWidget>

#include "viewer/panels/area_statistics.h"
#include "viewer/panels/histogram_view.h"
#include "viewer/panels/statistics_table.h"

namespace pipetrace {

/// The statistics of a chart's area: a table by kind, stage, rank or bubble class, and the
/// durations of the selected line.
class StatisticsPanel : public QWidget {
  Q_OBJECT

 public:
  /// The chart must outlive it.
  explicit StatisticsPanel(ChartWidget& chart);

 public slots:
  /// Puts the table on the clipboard as comma-separated values.
  void copyCsv();

 private:
  void layOut();
  void updateSums();
  void updatePercentiles();
  void showHistogram();
  QString summary() const;

  ChartWidget& chart_;
  AreaStatistics statistics_;
  StatisticsTable table_;
  QComboBox* by_;
  QLabel* summary_;
  QTableView* view_;
  HistogramView* histogram_;
};

}  // namespace pipetrace
