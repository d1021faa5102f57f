#pragma once

#include "chart/chart_view.h"
#include "chart/draw/canvas.h"

namespace pipetrace {

/// Draws the load of the rows below a folded one. The height of a pixel column is the share of its
/// time that they are busy, and its colour the mean of their jobs'. `place` is on the canvas.
void drawFoldedRow(Canvas& canvas, const ChartView& view, const RowNode& node, RowPlace place);

/// Draws a header that is not folded: a line across the view.
void drawHeaderRow(Canvas& canvas, const ChartView& view, RowPlace place);

/// Draws a counter as a step curve over its range, which includes 0 where it is near. A pixel
/// column in which the value changes reaches from its least to its greatest value.
void drawCounterRow(Canvas& canvas, const ChartView& view, const CounterIndex& counter,
                    RowPlace place);

/// Draws a row that shows no lanes: folded, a header or a counter.
void drawRowWithoutLanes(Canvas& canvas, const ChartView& view, const ShownRow& shown,
                         RowPlace place);

/// Draws the thin line below the pinned rows.
void drawPinnedEdge(Canvas& canvas, const ChartView& view);

/// The share of pixel `x` of the view in which the rows below a folded one are busy, from 0 to 1.
double foldedShare(const ChartView& view, const RowNode& node, int x);

}  // namespace pipetrace
