#pragma once

#include <string>

#include "analysis/page/step_timeline.h"
#include "chart/chart_model.h"
#include "chart/row_layout.h"
#include "chart/script/script_drawing.h"

namespace pipetrace {

/// The lanes that a page's chart shows, with what is under the pointer: a JSON array of objects.
/// Each has "y" and "h" (pixels of the rows' drawing) and "name". Its "jobs" and "idle" are lists
/// of whole numbers (ScriptNumbers), seven and six for each event:
///
///     jobs  begin after the one before, length, name, kind, stage, peer, step
///     idle  begin after the one before, length, class, culprit, its lane, its place there
///
/// Times are nanoseconds; the first begin counts from `begin`, and may be negative. Names, kinds,
/// classes and culprits are texts of `texts`. The culprit's lane and place are those of its job in
/// the array, -1 where the chart has none. `whole` and `run` are what `step` was made of.
std::string chartLanes(const StepTimeline& step, const Timeline& whole, const Explanation& run,
                       const ChartModel& model, const RowLayout& layout, Nanoseconds begin,
                       ScriptDrawing& texts);

}  // namespace pipetrace
