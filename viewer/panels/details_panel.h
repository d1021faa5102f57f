#pragma once

#include <QPushButton>
#include <QTreeWidget>
#include <QWidget>

#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// All that is known about the selected job or bubble of a chart, and the ways to its culprit and
/// back.
class DetailsPanel : public QWidget {
  Q_OBJECT

 public:
  /// The chart must outlive it.
  explicit DetailsPanel(ChartWidget& chart);

  /// The selection in a few words: "forward 1, 10.00 ms"; empty without one.
  const QString& summary() const { return summary_; }

 private:
  void update();

  ChartWidget& chart_;
  QTreeWidget* fields_;
  QPushButton* goToCulprit_;
  QPushButton* goBack_;
  QString summary_;
};

}  // namespace pipetrace
