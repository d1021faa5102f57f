#pragma once

#include <QObject>
#include <QPoint>
#include <QTimer>
#include <optional>

#include "chart/chart_view.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {

class ChartWidget;

/// The pixels of the canvas from the first to the last row of the area that is shown; without a
/// height if none is. Its sides are limited to a little beyond the view.
PixelRect rectOf(const ChartView& view, const ChartArea& area);

/// Tints the area of a chart.
class AreaOverlay : public ChartOverlay {
 public:
  /// The chart must outlive it.
  explicit AreaOverlay(const ChartWidget& chart) : chart_(chart) {}

  void paint(QPainter& painter, const ChartView& view) override;

 private:
  const ChartWidget& chart_;
};

/// Says how long the area of a chart is.
class AreaLengthOverlay : public ChartOverlay {
 public:
  /// The chart must outlive it.
  explicit AreaLengthOverlay(const ChartWidget& chart) : chart_(chart) {}

  void paint(QPainter& painter, const ChartView& view) override;

 private:
  const ChartWidget& chart_;
};

/// The edge of a chart's area under the pointer.
enum class AreaEdge { kNone, kBegin, kEnd, kTop, kBottom };

/// Drags the area of a chart: a new one, or an edge of the one that there is. Edges in time snap to
/// begins and ends of jobs that are near. While the pointer is outside of the rows, the chart
/// scrolls. On the GUI thread.
class AreaDrag : public QObject {
  Q_OBJECT

 public:
  /// The chart must outlive it.
  explicit AreaDrag(ChartWidget& chart);

  /// The edge of the area within a few pixels of `position` in the viewport.
  AreaEdge edgeAt(QPoint position) const;
  /// The cursor that says so.
  static Qt::CursorShape cursorOf(AreaEdge edge);

  bool isActive() const { return isActive_; }
  /// Begins where the button was pressed: at an edge with that edge, above the rows with an area of
  /// all rows, else with a new area.
  void start(QPoint pressedAt);
  void moveTo(QPoint position);
  /// Ends the drag. The area stays.
  void stop();

 private:
  struct Reach {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };
  Reach timeAt(QPoint position) const;
  Nanoseconds snapped(Nanoseconds time, int y) const;
  std::vector<std::size_t> rowsBetween(int y, int otherY) const;
  void update();
  void scroll();

  ChartWidget& chart_;
  QTimer scrolling_;
  bool isActive_ = false;
  QPoint position_;  // of the pointer
  // The pointer moves one side of the area; the other one stays at the anchor.
  bool movesTime_ = true;
  bool movesRows_ = true;
  bool isEdge_ = false;
  Reach anchorTime_;
  int anchorY_ = 0;  // in the layout
  ChartArea area_;
};

}  // namespace pipetrace
