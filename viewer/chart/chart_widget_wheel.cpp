#include <QGestureEvent>
#include <QNativeGestureEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <cmath>

#include "viewer/chart/chart_widget.h"

// The answers of the chart to wheels, trackpads and pinches.
namespace pipetrace {
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

}  // namespace pipetrace
