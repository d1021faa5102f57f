#pragma once

#include <QString>

#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// The list of mouse buttons and keys as rich text. The keys are those of the chart's commands.
QString keysHelp(const ChartWidget& chart);

}  // namespace pipetrace
