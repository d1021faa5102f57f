#pragma once

#include <string_view>
#include <vector>

#include "analysis/run_summary.h"
#include "trace/timeline.h"

namespace pipetrace::test {

/// The steps of a lane's events.
inline std::vector<int> stepsOf(const Timeline& timeline, int rank,
                                std::string_view lane = kComputeLane) {
  std::vector<int> steps;
  for (const Event& event : timeline.findTrack(rank, lane)->events) steps.push_back(event.step);
  return steps;
}

/// Sorts and completes a timeline.
inline Diagnostics complete(Timeline& timeline) {
  timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return diagnostics;
}

}  // namespace pipetrace::test
