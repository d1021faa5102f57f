#pragma once

#include <QString>

#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// Tells screen readers about the rows of charts from now on: the labels are a list, each shown row
/// is an item with its name, its place, whether it is folded and whether it is the current one.
/// Calls after the first do nothing. On the GUI thread.
void makeRowsAccessible();

/// What a screen reader says of the selection: "forward 3 on rank 2, step 1, 10.00 ms"; empty
/// without one.
QString selectionWords(const ChartWidget& chart);

}  // namespace pipetrace
