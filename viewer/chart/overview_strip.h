#pragma once

#include <QWidget>
#include <optional>

#include "chart/steps/step_columns.h"

namespace pipetrace {

class ChartWidget;

/// The whole run above a chart: a bar for each step, as high as the step is long, with the share of
/// idle time in a lighter tint. A bracket shows the part in view; it can be dragged, at its sides
/// too. Dragging elsewhere shows that stretch; a click on a bar goes to the step.
class OverviewStrip : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kHeight = 46;

  /// The chart is its parent.
  explicit OverviewStrip(ChartWidget& chart);

  /// Takes over the steps and the bubble ratios of the chart.
  void updateSteps();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  enum class Grip { kNone, kBegin, kEnd, kBracket, kElsewhere };

  /// The pixels of the bars: along the rows of the chart.
  QRect bars() const;
  TimeAxis axis() const;
  /// The bars, which are kept from frame to frame.
  const std::vector<StepColumn>& columns() const;
  /// The duration that a bar of full height has: the longest, or a few times the median where one
  /// is much longer.
  Nanoseconds fullHeight(const std::vector<StepColumn>& columns) const;
  QRect bracket() const;
  Grip gripAt(QPoint position) const;
  void drag(QPoint position);
  const StepColumn* columnAt(const std::vector<StepColumn>& columns, QPoint position) const;
  QString textOf(const StepColumn& column) const;
  void paintBars(QPainter& painter) const;
  void paintBracket(QPainter& painter) const;

  ChartWidget& chart_;
  mutable std::vector<StepColumn> columns_;
  mutable int columnsWidth_ = -1;  // for which they are; -1: none
  Grip grip_ = Grip::kNone;        // that is held
  QPoint pressedAt_;
  bool isDragging_ = false;
  Timeline::Span held_;  // the view as the button was pressed
};

}  // namespace pipetrace
