#pragma once

#include <QMenuBar>
#include <QString>
#include <vector>

#include "viewer/chart/chart_widget.h"
#include "viewer/commands/picker.h"

namespace pipetrace {

/// The commands of the menus that are enabled now, each with its keys.
std::vector<PickerEntry> commandEntries(const QMenuBar& menus, const ChartWidget& chart);

/// The rows of a chart; picking one scrolls to it. Rows of the compute lanes come first.
std::vector<PickerEntry> rowEntries(ChartWidget& chart);

/// The slowest step, the one of median length, and all steps.
std::vector<PickerEntry> stepEntries(ChartWidget& chart);

/// The place that a text such as "12.5 ms", "+3 ms" or "step 7" means; nothing for other texts.
std::vector<PickerEntry> placeEntries(ChartWidget& chart, const QString& typed);

}  // namespace pipetrace
