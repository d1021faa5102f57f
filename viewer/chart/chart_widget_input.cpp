#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "viewer/chart/area_drag.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/words/job_fields.h"
#include "viewer/words/row_words.h"

// The answers of the chart to the mouse.
namespace pipetrace {
namespace {

constexpr int kRatio = 1'000'000;

}  // namespace

void ChartWidget::zoomAt(int viewportX, double steps) {
  if (model_ == nullptr || steps == 0) return;
  isFitted_ = false;
  steps = std::clamp(steps, -20.0, 20.0);
  axis_.zoom(viewportX - area_.x,
             static_cast<int>(std::lround(std::pow(kZoomStep, -steps) * kRatio)), kRatio);
  axis_.alignToPixels();
  viewHasChanged();
}

void ChartWidget::pan(int pixels) {
  if (model_ == nullptr || pixels == 0) return;
  isFitted_ = false;
  axis_.alignToPixels();  // so that tiles can be used again
  axis_.pan(pixels);
  viewHasChanged();
}

int ChartWidget::zoomCenter() const {
  const QPoint cursor = viewport()->mapFromGlobal(QCursor::pos());
  if (viewport()->underMouse() && area_.contains(cursor.x(), cursor.y())) return cursor.x();
  return area_.x + area_.width / 2;
}

void ChartWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || model_ == nullptr) return;
  pressedAt_ = draggedFrom_ = event->position().toPoint();
  isDragging_ = false;
  const bool isShift = (event->modifiers() & Qt::ShiftModifier) != 0;
  const bool isEdge = areaDrag_->edgeAt(*pressedAt_) != AreaEdge::kNone;
  // Over the labels there is no time to select.
  isPanning_ = pressedAt_->x() < area_.x || (isShift != dragPans_ && !isEdge);
  QToolTip::hideText();
}

void ChartWidget::mouseMoveEvent(QMouseEvent* event) {
  const QPoint position = event->position().toPoint();
  if (pressedAt_ && (event->buttons() & Qt::LeftButton) != 0) {
    drag(position);
  } else {
    viewport()->setCursor(AreaDrag::cursorOf(areaDrag_->edgeAt(position)));
    showTooltipAt(position, event->globalPosition().toPoint());
  }
}

void ChartWidget::drag(QPoint position) {
  const int distance = (position - *pressedAt_).manhattanLength();
  if (!isDragging_ && distance < QApplication::startDragDistance()) return;
  if (!isDragging_ && !isPanning_) areaDrag_->start(*pressedAt_);
  isDragging_ = true;
  if (!isPanning_) return areaDrag_->moveTo(position);
  viewport()->setCursor(Qt::ClosedHandCursor);
  const QPoint moved = position - draggedFrom_;
  draggedFrom_ = position;
  scrollBy(moved);
}

void ChartWidget::scrollBy(QPoint pixels) {
  verticalScrollBar()->setValue(verticalScrollBar()->value() - pixels.y());
  pan(pixels.x());
}

void ChartWidget::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressedAt_) return;
  const QPoint position = event->position().toPoint();
  if (!isDragging_ && model_ != nullptr) click(position);
  endAreaDrag();
  pressedAt_.reset();
  isDragging_ = false;
  viewport()->setCursor(Qt::ArrowCursor);
}

void ChartWidget::click(QPoint position) {
  if (const StepSpan* const step = rulerStepAt(position)) return selectStep(*step);
  const auto hit = hitAt(view(), position.x(), position.y());
  if (!hit) clearArea();
  select(hit);
}

void ChartWidget::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || model_ == nullptr) return;
  // The selection of the first click counts: its pane may have moved the chart since.
  const QPoint position = event->position().toPoint();
  if (const StepSpan* const step = rulerStepAt(position)) return showStep(step->step);
  if (!selection_) select(hitAt(view(), position.x(), position.y()));
  zoomToSelection();
}

bool ChartWidget::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    showTooltipAt(help->pos(), help->globalPos());
    return true;
  }
  if (zoomByGesture(event)) return true;
  if (event->type() == QEvent::Leave) QToolTip::hideText();
  return QAbstractScrollArea::viewportEvent(event);
}

void ChartWidget::showTooltipAt(QPoint position, QPoint globalPosition) {
  if (model_ == nullptr) return;
  QString text;
  if (const auto hit = hitAt(view(), position.x(), position.y())) {
    text = tooltipText(*model_, *hit);
  } else if (const StepSpan* const step = rulerStepAt(position)) {
    text = stepText(*step);
  } else if (area_.contains(position.x(), position.y())) {
    const auto shown = layout_.shownAt(view().layoutYAt(position.y()));
    if (shown) text = rowTip(view(), layout_.shown()[*shown], position.x());
  }
  QToolTip::showText(globalPosition, text, viewport());
}

}  // namespace pipetrace
