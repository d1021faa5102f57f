#include "viewer/chart/held_keys.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

constexpr int kFrame = 16;          // ms
constexpr qint64 kTap = 160;        // ms; a shorter press is one step
constexpr qint64 kLongestGap = 50;  // ms; after a slow frame the movement does not jump

}  // namespace

HeldKeys::HeldKeys(QObject* parent) : QObject(parent) {
  frames_.setTimerType(Qt::PreciseTimer);
  frames_.setInterval(kFrame);
  connect(&frames_, &QTimer::timeout, this, &HeldKeys::step);
  QCoreApplication::instance()->installEventFilter(this);
}

void HeldKeys::holdOn(std::function<void(double)> move) {
  if (!isDown_) return;
  move_ = std::move(move);
  held_.start();
  movedAt_ = 0;
  frames_.start();
}

void HeldKeys::step() {
  const qint64 now = held_.elapsed();
  const qint64 gap = std::min(now - std::exchange(movedAt_, now), kLongestGap);
  if (now >= kTap) move_(static_cast<double>(gap) / 1000);
}

void HeldKeys::stop() {
  isDown_ = false;
  frames_.stop();
}

bool HeldKeys::eventFilter(QObject* watched, QEvent* event) {
  switch (event->type()) {
    case QEvent::ShortcutOverride:
    case QEvent::KeyPress:
      if (!static_cast<QKeyEvent*>(event)->isAutoRepeat()) isDown_ = true;
      break;
    case QEvent::KeyRelease:
      if (!static_cast<QKeyEvent*>(event)->isAutoRepeat()) stop();
      break;
    case QEvent::ApplicationDeactivate:
    case QEvent::WindowDeactivate: stop(); break;
    default: break;
  }
  return QObject::eventFilter(watched, event);
}

}  // namespace pipetrace
