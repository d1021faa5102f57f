#pragma once

#include <QLabel>
#include <QWidget>
#include <memory>

#include "viewer/chart/chart_stack.h"
#include "viewer/what_if/predicted_run.h"

namespace pipetrace {

/// The chart of a prediction, under the measured one of a stack: its step stands under the measured
/// step in the middle of the view. Jobs that moved are tinted.
///
/// A pane of the stack, which it adds itself to. On the GUI thread.
class PredictedChart : public QWidget {
  Q_OBJECT

 public:
  /// The main chart is the measured one.
  explicit PredictedChart(ChartStack& charts);
  ~PredictedChart() override;

  /// Shows a prediction, in words above its chart; null: none. `isPreview`: of the median step
  /// alone.
  void show(std::shared_ptr<const PredictedRun> run, const QString& words, bool isPreview);
  /// Whether it is seen while there is a prediction.
  void setUsed(bool isUsed);
  const PredictedRun* run() const { return run_.get(); }
  ChartWidget& chart() const { return *chart_; }
  QString words() const;
  /// Takes the colours of the measured chart.
  void updateTheme();

 private:
  void place();
  /// By how much later the step in the middle of the view is predicted to begin.
  Nanoseconds offset() const;

  ChartStack& charts_;
  ChartWidget& measured_;
  ChartWidget* chart_;
  QLabel* words_;
  QLabel* colors_;
  std::shared_ptr<const PredictedRun> run_;
  bool isUsed_ = false;
};

}  // namespace pipetrace
