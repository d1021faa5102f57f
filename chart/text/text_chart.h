#pragma once

#include <optional>
#include <string>

#include "trace/timeline.h"

namespace pipetrace {

inline constexpr int kMinTextChartWidth = 20;
inline constexpr int kMaxTextChartWidth = 100'000;

struct TextChartOptions {
  int width = 100;                      ///< columns of a line, including row labels
  std::optional<Timeline::Span> range;  ///< not given: the span of the compute lanes
  bool colors = false;                  ///< with ANSI escape sequences
};

/// The compute lanes of a run in characters: an axis with times, a row per rank, a legend.
///
///            |0       |2 ms     |4 ms
///     rank 0 F0 F1 -- -- B0=== F2
///
/// A job is its text (JobText), filled up with '=', with a blank at the end where there is room.
/// Idle time is '-', or "--" for each cell if there are cells. Where the timeline has bubbles, idle
/// time has the mark of its class, and time that belongs to no step is blank. A job
/// that is no work is idle time, so its text is filled up with that mark. Jobs that are too short
/// for a column share one: it shows the letter of the kind with the most time, or ':' if the column
/// is mostly idle time. Every line ends with a newline. No line has trailing blanks or is wider
/// than `width`. `timeline` must be sorted. Takes time linear in its events.
///
/// If all times are multiples of one unit, a unit is a cell, in which every job has room for its
/// text.
/// - Cells are drawn in one line if it is no wider than `width`. Else time is scaled to the width.
/// - If a micro-batch number has no room in the scaled chart, the line of cells is wrapped. Where
///   half as many lines are enough for that, the scaled chart is made wider and wrapped instead.
///   The parts come one below the other, each with an axis. A job that is cut goes on as '='.
/// - A chart that would have more than 200 such lines stays scaled, and so does one without a unit.
///   Its legend then says that a letter without a number had no room for it.
///
/// Where gradients are added up (all-reduces whose members are given) and the rank is idle, the row
/// has "sum"; where all ranks agree (those without a stage), "agr".
///
/// Throws Error for widths outside kMinTextChartWidth .. kMaxTextChartWidth, and if no compute job
/// is in the range.
std::string textChart(const Timeline& timeline, const TextChartOptions& options);

}  // namespace pipetrace
