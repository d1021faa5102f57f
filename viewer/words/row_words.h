#pragma once

#include <QString>

#include "chart/chart_view.h"

namespace pipetrace {

/// The tooltip of a row's label.
QString labelTip(const ChartView& view, const ShownRow& row);

/// The tooltip of a row that shows no lanes, at pixel `x` of the canvas: the share of the ranks
/// that are busy there, or the value of a counter. Empty for headers.
QString rowTip(const ChartView& view, const ShownRow& row, int x);

}  // namespace pipetrace
