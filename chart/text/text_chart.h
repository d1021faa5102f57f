#pragma once

#include <optional>
#include <string>

#include "trace/timeline.h"

namespace pipetrace {

inline constexpr int kMinTextChartWidth = 20;
inline constexpr int kMaxTextChartWidth = 100'000;

struct TextChartOptions {
  int width = 100;                      ///< columns of a line, row labels included
  std::optional<Timeline::Span> range;  ///< not given: all of the compute lanes
  bool colors = false;                  ///< with ANSI escape sequences
};

/// The compute lanes of a run in characters: an axis with times, a row per rank, a legend.
///
///            |0       |2 ms     |4 ms
///     rank 0 F0 F1 -- -- B0=== F2
///
/// A job is its text (JobText), filled up with '=', and a blank at the end where there is room.
/// Idle time is '-': "--" per cell where there are cells. Jobs that are too short for a column
/// share one: the letter of most of the work, or ':' when it is mostly idle time. Every line ends
/// with a newline; no line has trailing blanks, or is wider than `width`. `timeline` must be
/// sorted. Linear in its events.
///
/// Where all times are multiples of one unit, each is a cell in which every job has room for its
/// text, if a line of such cells is no wider than `width`. Else time is scaled to the width. Where
/// that leaves no room for a job's micro-batch number, the line of cells is wrapped: the parts come
/// one below the other, each with an axis, and a job that is cut goes on as '='. A chart of more
/// than 200 such lines stays scaled, and so does one without a unit: its legend says that a letter
/// without a number had no room for it.
///
/// Throws Error for widths outside kMinTextChartWidth .. kMaxTextChartWidth, and when there is no
/// compute job in the range.
std::string textChart(const Timeline& timeline, const TextChartOptions& options);

}  // namespace pipetrace
