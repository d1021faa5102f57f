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

/// One entry per kind of event in the timeline, in the order of JobKind; for kinds that run in
/// several chunks one for the first and one for the last chunk.
std::vector<LegendEntry> legendOf(const Timeline& timeline);

}  // namespace pipetrace
