#pragma once

#include <QTreeWidget>
#include <QWidget>

#include "viewer/chart/chart_widget.h"
#include "viewer/marks/marks.h"

namespace pipetrace {

/// The marks of a chart as a list, and on the chart. Enter and a double click go to a mark, F2
/// edits its text, Delete removes it. Gives the chart the command that sets a mark (M).
class MarksPanel : public QWidget {
  Q_OBJECT

 public:
  /// The chart must outlive it.
  explicit MarksPanel(ChartWidget& chart);

  Marks& marks() { return marks_; }

 public slots:
  /// Sets a mark at the selected job or bubble, else at the time under the pointer, else in the
  /// middle of the view, and asks for its text.
  void markHere();

 signals:
  /// A text is asked for: the panel has to be seen.
  void wanted();

 private:
  void fill();
  void go(QTreeWidgetItem* item);
  void removeChosen();
  int indexOf(const QTreeWidgetItem* item) const;

  ChartWidget& chart_;
  Marks marks_;
  QTreeWidget* list_;
  bool isFilling_ = false;
};

}  // namespace pipetrace
