#pragma once

#include <optional>
#include <string>

#include "trace/timeline.h"

namespace pipetrace {

inline constexpr int kMinTextChartWidth = 20;
inline constexpr int kMaxTextChartWidth = 100'000;

struct TextChartOptions {
  int width = 100;  ///< columns of a line, row labels included
  /// Where all times are multiples of one unit, and a line of equal cells, one per unit, takes no
  /// more columns than this, it is drawn so.
  int unitWidth = 100;
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
/// with a newline; no line has trailing blanks. `timeline` must be sorted. Linear in its events.
///
/// Throws Error for widths outside kMinTextChartWidth .. kMaxTextChartWidth, and when there is no
/// compute job in the range.
std::string textChart(const Timeline& timeline, const TextChartOptions& options);

}  // namespace pipetrace
