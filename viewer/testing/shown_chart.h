#pragma once

#include <QTest>
#include <QWheelEvent>

#include "analysis/run/run.h"
#include "chart/testing/timelines.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {

/// A chart of a run in its own window, for tests that point at jobs.
class ShownChart {
 public:
  explicit ShownChart(const TestRun& run = {}, QSize size = {1200, 640})
      : ShownChart(makeTestTimeline(run), size) {}

  explicit ShownChart(Timeline timeline, QSize size = {1200, 640}) : run_(std::move(timeline)) {
    widget_.resize(size);
    widget_.setModel(&model_);
    showActive(widget_);
    widget_.setFocus();
    QCoreApplication::processEvents();
  }

  ChartWidget& widget() { return widget_; }
  const ChartWidget& widget() const { return widget_; }
  const ChartModel& model() const { return model_; }
  const Run& run() const { return run_; }
  void setTheme(const Theme& theme) {
    model_.setTheme(theme);
    widget_.redraw();
  }
  const TimeAxis& axis() const { return widget_.view().axis; }

  /// The i-th job of kind `kind` on the rank's compute lane.
  const Event& job(int rank, JobKind kind, int microBatch, int step = 0) const {
    for (const Event& e : run_.timeline().findTrack(rank, kComputeLane)->events) {
      if (e.kind == kind && e.microBatch == microBatch && e.step == step) return e;
    }
    throw std::out_of_range("no such job");
  }

  /// The middle of an event in the rank's compute row.
  QPoint middleOf(int rank, const Event& event) const {
    const ChartView view = widget_.view();
    for (std::size_t i = 0; i < model_.rows().size(); ++i) {
      if (model_.rows()[i].rank != rank || !model_.rows()[i].isCompute) continue;
      return {view.xOf(event.begin + event.duration() / 2),
              view.yOf(view.layout[i].top + view.layout[i].height / 2)};
    }
    throw std::out_of_range("no such rank");
  }

  void wheel(QPoint position, QPoint angle, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWidget* viewport = widget_.viewport();
    QWheelEvent event(position, viewport->mapToGlobal(position), QPoint(), angle, Qt::NoButton,
                      modifiers, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(viewport, &event);
  }

  void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    dragWithoutRelease(from, to, modifiers);
    QTest::mouseRelease(widget_.viewport(), Qt::LeftButton, modifiers, to);
  }

  void dragWithoutRelease(QPoint from, QPoint to,
                          Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::mousePress(widget_.viewport(), Qt::LeftButton, modifiers, from);
    sendMove((from + to) / 2);
    sendMove(to);
  }

  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(&widget_, key, modifiers);
  }

 private:
  // QTest::mouseMove() has no pressed buttons, so it cannot drag.
  void sendMove(QPoint position) {
    QMouseEvent event(QEvent::MouseMove, position, widget_.viewport()->mapToGlobal(position),
                      Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(widget_.viewport(), &event);
  }

  Run run_;
  ChartModel model_{run_.timeline(), run_.topology()};
  ChartWidget widget_;
};

}  // namespace pipetrace
