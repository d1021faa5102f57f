#pragma once

#include <QLineEdit>

namespace pipetrace {

class ChartWidget;

/// The field above the row labels: the chart shows the rows that have its text in their names.
/// Enter goes to the labels; Esc clears it and goes to the chart.
class RowFilter : public QLineEdit {
  Q_OBJECT

 public:
  explicit RowFilter(ChartWidget& chart);
  /// Shows the filter of the chart's rows.
  void refresh();

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  ChartWidget& chart_;
};

}  // namespace pipetrace
