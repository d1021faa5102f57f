#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "viewer/chart/chart_widget.h"
#include "viewer/words/job_fields.h"
#include "viewer/words/row_words.h"

// The answers of the chart to the mouse.
namespace pipetrace {
namespace {

constexpr double kZoomStep = 1.25;
constexpr int kWheelNotch = 120;  // eighths of a degree
constexpr int kRatio = 1'000'000;

}  // namespace

void ChartWidget::zoomAt(int viewportX, double steps) {
  if (model_ == nullptr || steps == 0) return;
  isFitted_ = false;
  steps = std::clamp(steps, -20.0, 20.0);
  axis_.zoom(viewportX - area_.x,
             static_cast<int>(std::lround(std::pow(kZoomStep, -steps) * kRatio)), kRatio);
  viewHasChanged();
}

void ChartWidget::pan(int pixels) {
  if (model_ == nullptr || pixels == 0) return;
  isFitted_ = false;
  axis_.pan(pixels);
  viewHasChanged();
}

int ChartWidget::zoomCenter() const {
  const QPoint cursor = viewport()->mapFromGlobal(QCursor::pos());
  if (viewport()->underMouse() && area_.contains(cursor.x(), cursor.y())) return cursor.x();
  return area_.x + area_.width / 2;
}

void ChartWidget::zoomIn() { zoomAt(zoomCenter(), 1); }
void ChartWidget::zoomOut() { zoomAt(zoomCenter(), -1); }
void ChartWidget::panBy(int tenths) { pan(-axis_.width() * tenths / 10); }

void ChartWidget::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  const int x = static_cast<int>(event->position().x());
  const bool isSideways = delta.y() == 0 || (event->modifiers() & Qt::ShiftModifier) != 0;
  event->accept();
  if (isSideways) {
    const int notches = delta.y() == 0 ? delta.x() : delta.y();
    return pan(notches * axis_.width() / (10 * kWheelNotch));
  }
  if (x >= area_.x) return zoomAt(x, static_cast<double>(delta.y()) / kWheelNotch);
  // Over the labels the wheel scrolls the rows.
  wheelRest_ += delta.y() * verticalScrollBar()->singleStep();
  verticalScrollBar()->setValue(verticalScrollBar()->value() - wheelRest_ / kWheelNotch);
  wheelRest_ %= kWheelNotch;
}

void ChartWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || model_ == nullptr) return;
  pressedAt_ = draggedFrom_ = event->position().toPoint();
  isDragging_ = false;
  QToolTip::hideText();
}

void ChartWidget::mouseMoveEvent(QMouseEvent* event) {
  const QPoint position = event->position().toPoint();
  if (pressedAt_ && (event->buttons() & Qt::LeftButton) != 0) {
    drag(position);
  } else {
    showTooltipAt(position, event->globalPosition().toPoint());
  }
}

void ChartWidget::drag(QPoint position) {
  const int distance = (position - *pressedAt_).manhattanLength();
  if (!isDragging_ && distance < QApplication::startDragDistance()) return;
  isDragging_ = true;
  viewport()->setCursor(Qt::ClosedHandCursor);
  const QPoint moved = position - draggedFrom_;
  draggedFrom_ = position;
  verticalScrollBar()->setValue(verticalScrollBar()->value() - moved.y());
  pan(moved.x());
}

void ChartWidget::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressedAt_) return;
  const QPoint position = event->position().toPoint();
  if (!isDragging_ && model_ != nullptr) select(hitAt(view(), position.x(), position.y()));
  pressedAt_.reset();
  isDragging_ = false;
  viewport()->setCursor(Qt::ArrowCursor);
}

void ChartWidget::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || model_ == nullptr) return;
  // The selection of the first click counts: its pane may have moved the chart since.
  const QPoint position = event->position().toPoint();
  if (!selection_) select(hitAt(view(), position.x(), position.y()));
  showCulprit();
}

bool ChartWidget::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    showTooltipAt(help->pos(), help->globalPos());
    return true;
  }
  if (event->type() == QEvent::Leave) QToolTip::hideText();
  return QAbstractScrollArea::viewportEvent(event);
}

void ChartWidget::showTooltipAt(QPoint position, QPoint globalPosition) {
  if (model_ == nullptr) return;
  QString text;
  if (const auto hit = hitAt(view(), position.x(), position.y())) {
    text = tooltipText(*model_, *hit);
  } else if (area_.contains(position.x(), position.y())) {
    const auto shown = layout_.shownAt(view().layoutYAt(position.y()));
    if (shown) text = rowTip(view(), layout_.shown()[*shown], position.x());
  }
  QToolTip::showText(globalPosition, text, viewport());
}

}  // namespace pipetrace
