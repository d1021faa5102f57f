#pragma once

#include <QAbstractScrollArea>
#include <QPoint>
#include <memory>
#include <optional>
#include <vector>

#include "chart/chart_hit.h"
#include "chart/steps/step_choice.h"
#include "viewer/chart/chart_overlay.h"
#include "viewer/chart/font_cache.h"
#include "viewer/chart/row_tiles.h"

namespace pipetrace {

/// The Gantt chart: legend and time axis on top, row labels at the left, jobs and bubbles. The
/// wheel and keys zoom around the cursor; dragging and keys pan. The event under the cursor has a
/// tooltip. A click selects an event, a double click on a bubble its culprit. docs/viewer.md lists
/// all of this.
class ChartWidget : public QAbstractScrollArea {
  Q_OBJECT

 public:
  static constexpr int kMargin = 8;  ///< pixels around the parts of the chart

  explicit ChartWidget(QWidget* parent = nullptr);

  /// Shows all of `model`, which must live until the next call; nothing for nullptr.
  void setModel(const ChartModel* model);
  /// Shows `model`, another one of the same run: it has grown, or has other colours. The model that
  /// was shown must still live. The time in view, the scroll and the selection stay. A chart of the
  /// whole run, or of its end, goes on to show that.
  void replaceModel(const ChartModel* model);
  const ChartModel* model() const { return model_; }
  /// The model has got more: bubbles that were added, say. View and selection stay.
  void modelHasChanged();

  /// Shows these steps; the whole run if they are all steps.
  void showSteps(const StepChoice& steps);
  /// The visible part of the chart, in pixels of viewport(). There must be a model.
  ChartView view() const;
  bool isFitted() const { return isFitted_; }
  const std::optional<ChartHit>& selection() const { return selection_; }
  /// The job that the selected bubble is blamed on; nothing if none is selected or known.
  const std::optional<ChartHit>& culprit() const { return culprit_; }
  /// Whether showBubble() has a bubble to go back to.
  bool hasBubble() const { return bubble_.has_value(); }
  /// Draws `overlay` over the rows from now on, after those that were added before.
  void addOverlay(std::unique_ptr<ChartOverlay> overlay);

 public slots:
  void fit();
  void zoomIn();
  void zoomOut();
  /// Moves the view by tenths of its width; forward in time if `tenths` is positive.
  void panBy(int tenths);
  /// Shows the first step that begins after the view's begin. From the whole run it goes to the
  /// first step.
  void showNextStep();
  /// Shows the last step that begins before the view. From the whole run it goes to the last step.
  void showPreviousStep();
  void clearSelection();
  /// Selects the culprit of the selected bubble and brings it into view.
  void showCulprit();
  /// Goes back to the bubble from which showCulprit() came.
  void showBubble();

 signals:
  void viewChanged();
  void selectionChanged();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void layOut();
  void viewHasChanged();
  void zoomAt(int viewportX, double steps);
  void pan(int pixels);
  void showTime(Nanoseconds begin, Nanoseconds end);
  void drag(QPoint position);
  void showTooltipAt(QPoint position, QPoint globalPosition);
  /// `bubble`: the bubble whose culprit it is, if that is how it was reached.
  void select(const std::optional<ChartHit>& hit,
              const std::optional<ChartHit>& bubble = std::nullopt);
  void bringIntoView(const ChartHit& hit);
  int zoomCenter() const;
  void drawSelection(QPainter& painter) const;
  void outline(QPainter& painter, const ChartHit& hit, const QPen& pen) const;

  const ChartModel* model_ = nullptr;
  RowLayout layout_;
  TimeAxis axis_{0, 1, 1};
  PixelRect area_;  // of the rows
  PixelRect legend_;
  int labelWidth_ = 0;
  mutable FontCache fonts_;
  RowTiles tiles_;
  std::vector<std::unique_ptr<ChartOverlay>> overlays_;
  bool isFitted_ = true;
  std::optional<ChartHit> selection_;
  std::optional<ChartHit> culprit_;  // of the selection
  std::optional<ChartHit> bubble_;   // from which the selection was reached
  std::optional<QPoint> pressedAt_;
  QPoint draggedFrom_;
  bool isDragging_ = false;
  int wheelRest_ = 0;  // rest of a vertical scroll, in eighths of a degree
};

}  // namespace pipetrace
