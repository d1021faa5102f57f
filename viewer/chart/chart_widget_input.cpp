// The answers of the chart to the mouse.
#include <QApplication>
#include <QGestureEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "trace/text/decimal_time.h"
#include "viewer/chart/area_drag.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/words/job_fields.h"
#include "viewer/words/row_words.h"

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

// The answers of the chart to wheels, trackpads and pinches.

namespace {

constexpr int kWheelNotch = 120;          // eighths of a degree
constexpr double kPixelsOfZoomStep = 60;  // of two fingers on a trackpad

}  // namespace

void ChartWidget::wheelEvent(QWheelEvent* event) {
  event->accept();
  const int x = static_cast<int>(event->position().x());
  const bool isShifted = (event->modifiers() & Qt::ShiftModifier) != 0;
  const bool isZoom = (event->modifiers() & Qt::ControlModifier) != 0;
  if (!event->pixelDelta().isNull()) {
    // A trackpad: the chart follows the fingers in both directions.
    QPoint moved = event->pixelDelta();
    if (isZoom) return zoomAt(x, moved.y() / kPixelsOfZoomStep);
    if (isShifted && moved.x() == 0) moved = {moved.y(), 0};
    verticalScrollBar()->setValue(verticalScrollBar()->value() - moved.y());
    return pan(moved.x());
  }
  const QPoint delta = event->angleDelta();
  if (delta.y() == 0 || isShifted) {
    const int notches = delta.y() == 0 ? delta.x() : delta.y();
    return pan(notches * axis_.width() / (10 * kWheelNotch));
  }
  if (x >= area_.x || isZoom) return zoomAt(x, static_cast<double>(delta.y()) / kWheelNotch);
  // Over the labels the wheel scrolls the rows.
  wheelRest_ += delta.y() * verticalScrollBar()->singleStep();
  verticalScrollBar()->setValue(verticalScrollBar()->value() - wheelRest_ / kWheelNotch);
  wheelRest_ %= kWheelNotch;
}

bool ChartWidget::zoomByGesture(QEvent* event) {
  double factor = 1;
  QPointF center;
  if (event->type() == QEvent::NativeGesture) {
    const auto* gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() != Qt::ZoomNativeGesture) return false;
    factor = 1 + gesture->value();
    center = gesture->position();
  } else if (event->type() == QEvent::Gesture) {
    auto* gestures = static_cast<QGestureEvent*>(event);
    const auto* pinch = static_cast<QPinchGesture*>(gestures->gesture(Qt::PinchGesture));
    if (pinch == nullptr) return false;
    gestures->accept();
    factor = pinch->scaleFactor();
    center = viewport()->mapFromGlobal(pinch->hotSpot());
  } else {
    return false;
  }
  if (factor > 0) zoomAt(static_cast<int>(center.x()), std::log(factor) / std::log(kZoomStep));
  return true;
}

// The area of the chart, and the steps above the rows.

void ChartWidget::setArea(std::optional<ChartArea> area) {
  if (model_ == nullptr) area.reset();
  if (marked_ == area) return;
  marked_ = std::move(area);
  viewport()->update();
  emit areaChanged();
}

bool ChartWidget::isDraggingArea() const { return areaDrag_->isActive(); }

void ChartWidget::endAreaDrag() {
  if (!areaDrag_->isActive()) return;
  areaDrag_->stop();
  emit areaChanged();
}

void ChartWidget::clearArea() {
  areaDrag_->stop();
  setArea(std::nullopt);
}

void ChartWidget::selectAreaOfJob() {
  if (!selection_) return;
  const Event& event = *selection_->event;
  setArea(ChartArea{{event.begin, std::max(event.end, event.begin + 1)}, {selection_->row}});
}

void ChartWidget::fitSelection() {
  if (model_ == nullptr) return;
  const TimeAxis before = axis_;
  if (marked_) {
    showTime(marked_->time.begin, marked_->time.end);
  } else {
    zoomToSelection();
  }
  if (before.begin() == axis_.begin() && before.end() == axis_.end()) fit();
}

const StepSpan* ChartWidget::rulerStepAt(QPoint position) const {
  if (model_ == nullptr || model_->steps().empty()) return nullptr;
  const bool isInRuler = position.x() >= area_.x && position.x() < area_.right() &&
                         position.y() >= legend_.bottom() && position.y() < area_.y;
  if (!isInRuler) return nullptr;
  const auto& steps = model_->steps();
  const Nanoseconds time = axis_.timeAt(position.x() - area_.x);
  const auto after = std::partition_point(steps.begin(), steps.end(),
                                          [time](const StepSpan& s) { return s.begin <= time; });
  return after == steps.begin() ? nullptr : &*(after - 1);
}

void ChartWidget::selectStep(const StepSpan& step) {
  ChartArea area{{step.begin, std::max(step.end, step.begin + 1)}, {}};
  for (std::size_t row = 0; row < layout_.size(); ++row) {
    if (layout_[row].bottom() > 0) area.rows.push_back(row);
  }
  setArea(std::move(area));
}

QString ChartWidget::stepText(const StepSpan& step) const {
  const Nanoseconds median = model_->medianStep();
  const Nanoseconds duration = step.end - step.begin;
  QString text = tr("step %1, %2")
                     .arg(QString::fromStdString(numberText(step)),
                          QString::fromStdString(formatDuration(duration)));
  const bool isCounted = step.phase == model_->countedPhase();
  if (model_->steps().size() > 2 && median > 0 && isCounted) {
    const double more = 100.0 * (static_cast<double>(duration) / static_cast<double>(median) - 1);
    text += more >= 0 ? tr(", %1 % longer than the median").arg(more, 0, 'f', 1)
                      : tr(", %1 % shorter than the median").arg(-more, 0, 'f', 1);
  }
  const auto ratio = bubbleRatios_.find(step.step);
  if (ratio != bubbleRatios_.end()) {
    text += tr(", bubble ratio %1 %").arg(100 * ratio->second, 0, 'f', 1);
  }
  return text;
}

}  // namespace pipetrace
