#pragma once

#include <QPointer>

#include "viewer/causes/causes.h"
#include "viewer/chart/chart_overlay.h"

namespace pipetrace {

/// Draws critical paths with slack, and the arrows of the selection. Draws nothing once `causes` is
/// gone.
class CausesOverlay : public ChartOverlay {
 public:
  explicit CausesOverlay(Causes& causes) : causes_(&causes) {}

  void paint(QPainter& painter, const ChartView& view) override;

 private:
  void paintPath(Canvas& canvas, const ChartView& view);

  QPointer<Causes> causes_;
  FontCache fonts_;
};

}  // namespace pipetrace
