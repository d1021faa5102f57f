#pragma once

#include <QPushButton>
#include <QString>
#include <QTreeWidget>
#include <QWidget>
#include <optional>
#include <vector>

#include "viewer/causes/causes.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// A line about the selection, and where it leads to.
struct DetailRow {
  QString name;
  QString value;
  std::optional<EventSpot> link;
  QString tooltip{};      ///< empty: the value
  bool isStrong = false;  ///< of what a job waited for: the last
};

/// Returns all that is known about the selected job or bubble of the chart. Its fields come first.
/// Once causes are known, a job has its slack, whether it is on the critical path, what it waited
/// for and what waited for it. A bubble leads to its culprit and to the message that it waited for.
/// `hit` is the selection.
std::vector<DetailRow> detailRows(const ChartWidget& chart, Causes& causes, const ChartHit& hit);

/// All that is known about the selected job or bubble of a chart: its fields, and the ways to its
/// culprit and back. A job also has what it waited for, and what waited for it. Lines that lead
/// somewhere are links: a click or Enter goes there. Ctrl+C copies the chosen lines, or all.
class DetailsPanel : public QWidget {
  Q_OBJECT

 public:
  /// Both must outlive it.
  DetailsPanel(ChartWidget& chart, Causes& causes);

  /// The selection in a few words: "forward 1, 10.00 ms"; empty without one.
  const QString& summary() const { return summary_; }

 private:
  void update();
  void go(QTreeWidgetItem* item);
  void copy();

  ChartWidget& chart_;
  Causes& causes_;
  QTreeWidget* fields_;
  QPushButton* goToCulprit_;
  QPushButton* goBack_;
  QString summary_;
  std::vector<std::optional<EventSpot>> links_;  // by line
};

}  // namespace pipetrace
