#pragma once

#include <QColor>

#include "viewer/chart/chart_widget.h"
#include "viewer/compare/run_comparison.h"

namespace pipetrace {

/// The colour of a difference, stronger the larger it is beside the longest one of both steps. It
/// says whether B takes longer (above 0) or less time, in both charts.
QColor tintOf(const Theme& theme, Nanoseconds difference, Nanoseconds longest);

/// The differences of jobs from their twins, as a band at the foot of each job. A pixel of several
/// jobs has the one that is furthest from 0. The comparison must outlive the chart.
class Tints : public ChartOverlay {
 public:
  Tints(const RunComparison& comparison, WhichRun run) : comparison_(comparison), run_(run) {}

  void paint(QPainter& painter, const ChartView& view) override;

 private:
  void paintRow(QPainter& painter, const ChartView& view, const JobTwins& twins,
                const RowInView& row) const;

  const RunComparison& comparison_;
  WhichRun run_;
};

}  // namespace pipetrace
