#include "tests/bench/viewer_frames.h"

#include <QMouseEvent>
#include <QScrollBar>
#include <QTest>
#include <QTimer>
#include <QWheelEvent>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>

#include "tests/bench/viewer_table.h"

namespace pipetrace::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Counts the paint events of a widget.
class PaintCount : public QObject {
 public:
  explicit PaintCount(QWidget* widget) : widget_(widget) { widget->installEventFilter(this); }
  ~PaintCount() override { widget_->removeEventFilter(this); }
  bool eventFilter(QObject* /*object*/, QEvent* event) override {
    count += event->type() == QEvent::Paint ? 1 : 0;
    return false;
  }
  int count = 0;

 private:
  QWidget* widget_;
};

double cpuMilliseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

std::mt19937& random() {
  static std::mt19937 generator(17);
  return generator;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace

FrameTimes FrameDriver::time(int events, bool paints, const std::function<void(int)>& send) {
  FrameTimes times;
  PaintCount painted(window_.chart()->viewport());
  for (int i = 0; i < events; ++i) {
    QCoreApplication::processEvents();
    painted.count = 0;
    const double cpu = cpuMilliseconds();
    const auto begin = Clock::now();
    send(i);
    QCoreApplication::processEvents();
    while (paints && painted.count == 0 && Clock::now() < begin + std::chrono::seconds(1)) {
      QCoreApplication::processEvents();
    }
    times.wall.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    times.cpu.push_back(cpuMilliseconds() - cpu);
  }
  return times;
}

QPoint FrameDriver::randomPoint() {
  const PixelRect area = window_.chart()->view().area;
  return {area.x + static_cast<int>(random()() % static_cast<unsigned>(area.width)),
          area.y + static_cast<int>(random()() % static_cast<unsigned>(area.height))};
}

void FrameDriver::wheel(QPoint angle, Qt::KeyboardModifiers modifiers) {
  QWidget* const viewport = window_.chart()->viewport();
  const QPoint at = randomPoint();
  QWheelEvent event(at, viewport->mapToGlobal(at), QPoint(), angle, Qt::NoButton, modifiers,
                    Qt::NoScrollPhase, false);
  QCoreApplication::sendEvent(viewport, &event);
}

FrameTimes FrameDriver::zoomAndPan(int events) {
  QTest::keyClick(window_.chart(), Qt::Key_F);
  QTest::keyClick(window_.chart(), Qt::Key_F);
  // In and out again, three times over all zooms.
  return time(events, true, [&](int i) {
    const bool isIn = (i / 80) % 2 == 0;
    if (i % 4 == 3) return wheel({0, random()() % 2 == 0 ? 1200 : -1200}, Qt::ShiftModifier);
    wheel({0, isIn ? 120 : -120}, Qt::ControlModifier);
  });
}

FrameTimes FrameDriver::panOn(int events) {
  QTest::keyClick(window_.chart(), Qt::Key_F);
  for (int i = 0; i < 8; ++i) wheel({0, 120}, Qt::ControlModifier);
  return time(events, true, [&](int i) {
    wheel({0, (i / 10) % 2 == 0 ? -120 : 120}, Qt::ShiftModifier);
  });
}

FrameTimes FrameDriver::scroll(int events) {
  QScrollBar* const bar = window_.chart()->verticalScrollBar();
  if (bar->maximum() == 0) return {};
  return time(events, true, [&](int /*i*/) {
    bar->setValue(static_cast<int>(random()() % static_cast<unsigned>(bar->maximum())));
  });
}

FrameTimes FrameDriver::hover(int events) {
  return time(events, false, [&](int /*i*/) {
    QWidget* const viewport = window_.chart()->viewport();
    const QPoint at = randomPoint();
    QMouseEvent event(QEvent::MouseMove, at, viewport->mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(viewport, &event);
  });
}

FrameTimes FrameDriver::click(int events) {
  return time(events, true, [&](int /*i*/) {
    QTest::mouseClick(window_.chart()->viewport(), Qt::LeftButton, Qt::NoModifier, randomPoint());
  });
}

FrameTimes FrameDriver::live(int events) {
  constexpr std::chrono::milliseconds kBetweenEvents{16};
  FrameTimes times;
  PaintCount painted(window_.chart()->viewport());
  QTimer wake;  // so that processEvents() comes back in time
  wake.start(1);
  auto due = Clock::now();
  for (int i = 0; i < events; ++i) {
    due = std::max(due + kBetweenEvents, Clock::now() - kBetweenEvents);
    while (Clock::now() < due) {
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    }
    painted.count = 0;
    const double cpu = cpuMilliseconds();
    if (i % 40 == 0) {
      QTest::keyClick(window_.chart(), Qt::Key_Home);
    } else if (i % 40 < 20) {
      wheel({0, 120}, Qt::ControlModifier);
    } else {
      wheel({0, i % 2 == 0 ? 120 : -120}, Qt::ShiftModifier);
    }
    while (painted.count == 0 && Clock::now() < due + std::chrono::seconds(1)) {
      QCoreApplication::processEvents();
    }
    times.wall.push_back(std::chrono::duration<double, std::milli>(Clock::now() - due).count());
    times.cpu.push_back(cpuMilliseconds() - cpu);
  }
  return times;
}

void printFrames(const std::string& what, FrameTimes times, double must, double beyond) {
  if (times.wall.empty()) return;
  char note[128];
  std::snprintf(note, sizeof note, "median %.2f; CPU of all threads: p99 %.2f, median %.2f",
                quantile(times.wall, 0.5), quantile(times.cpu, 0.99), quantile(times.cpu, 0.5));
  const auto goal = [](double value) { return value > 0 ? std::optional(value) : std::nullopt; };
  print({what + ", p99 of " + std::to_string(times.wall.size()), quantile(times.wall, 0.99), "ms",
         goal(must), goal(beyond), note});
}

}  // namespace pipetrace::bench
