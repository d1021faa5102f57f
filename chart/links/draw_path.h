#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "chart/draw/canvas.h"
#include "chart/links/event_box.h"

namespace pipetrace {

/// A job or message on a critical path, and the part of the step that it takes.
struct PathPart {
  EventSpot spot;  ///< event == nullptr: the chart does not have it
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  Nanoseconds wait = 0;   ///< right before it
  std::string waitWords;  ///< the cause of that
};

/// The critical path of a step, in the order of time.
struct ChartPath {
  std::int32_t step = 0;
  std::vector<PathPart> parts;
};

/// The most parts of paths that are drawn at once; nobody could see more of them.
inline constexpr std::size_t kMostPathParts = 10'000;

/// Draws critical paths in view.area. Their jobs and messages have outlines, and lines lead from
/// one to the next. A line is dashed where a job waited, with the cause where there is room. Parts
/// in rows that are not shown are left out. Draws nothing, and returns false, if more
/// than `most` parts are in view.
bool drawCriticalPath(Canvas& canvas, const ChartView& view,
                      std::span<const ChartPath* const> paths, std::size_t most = kMostPathParts);

/// By how much a job could have ended later, in nanoseconds; negative where nobody knows. Called
/// for the jobs of a row in the order of time.
using SlackOf = std::function<Nanoseconds(std::size_t row, const Event& job)>;

/// Makes jobs with slack paler: the more slack, the paler. Wide jobs name it: "slack 1.2 ms".
void drawSlack(Canvas& canvas, const ChartView& view, const SlackOf& slackOf);

}  // namespace pipetrace
