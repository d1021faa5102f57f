#pragma once

#include <optional>
#include <span>
#include <string>

#include "chart/chart_view.h"
#include "chart/draw/canvas.h"

namespace pipetrace {

/// A note of the user on a chart: at a time, or at an event.
struct ChartMark {
  Nanoseconds begin = 0;  ///< as the events of the chart
  Nanoseconds end = 0;    ///< of the event; `begin` for a time
  int rank = -1;          ///< of the event; -1: it is about a time
  std::string lane{};     ///< of the event
  std::string text{};     ///< may be empty

  bool isOfEvent() const { return rank >= 0; }
  bool operator==(const ChartMark&) const = default;
};

/// The row of the model that a mark of an event is in; nothing for other marks, and where the model
/// has no such lane.
std::optional<std::size_t> rowOf(const ChartModel& model, const ChartMark& mark);

/// Draws marks over the rows: a line for a time, a frame for an event, with their texts on flags.
/// Flags that would lie over others of a time are lower; texts are shortened.
void drawMarks(Canvas& canvas, const ChartView& view, std::span<const ChartMark> marks);

}  // namespace pipetrace
