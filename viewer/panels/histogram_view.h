#pragma once

#include <QWidget>
#include <optional>

#include "chart/statistics/percentiles.h"

namespace pipetrace {

/// Draws how many durations are in each bin, with the median as a line. The bin under the pointer
/// has a tooltip.
class HistogramView : public QWidget {
  Q_OBJECT

 public:
  HistogramView();

  /// Shows the durations of a line; nothing for null.
  void show(const QString& name, const LinePercentiles* line);
  /// The durations of the bin at that x, and how many there are; empty beside the bins.
  QString textAt(int x) const;

  QSize sizeHint() const override { return {280, 140}; }
  QSize minimumSizeHint() const override { return {140, 80}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRect box() const;
  int leftOf(std::size_t bin) const;
  int xOf(Nanoseconds duration) const;
  std::optional<std::size_t> binAt(int x) const;

  QString name_;
  std::optional<LinePercentiles> line_;
  int hovered_ = -1;
};

}  // namespace pipetrace
