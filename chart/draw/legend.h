#pragma once

#include <string>
#include <vector>

#include "chart/draw/color.h"
#include "trace/timeline.h"

namespace pipetrace {

struct LegendEntry {
  JobKind kind = JobKind::kOther;
  std::string label;
  Color color;
  bool isHatched = false;  ///< bubbles
};

/// The entries for the kinds of events in the timeline, in the order of JobKind. A kind that runs
/// in several chunks has two: one for the first chunk and one for the last.
std::vector<LegendEntry> legendOf(const Timeline& timeline);

}  // namespace pipetrace
