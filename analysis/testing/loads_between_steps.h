#pragma once

#include <algorithm>
#include <map>

#include "trace/timeline.h"

namespace pipetrace {

/// The run with a pause of that length before each step but the first, in which rank 0's data
/// loader works. The run must not be complete yet, and its jobs must name their steps.
inline Timeline withLoadsBetweenSteps(Timeline timeline, Nanoseconds load) {
  std::map<std::int32_t, Nanoseconds> ends;  // by step
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      event.begin += event.step * load;
      event.end += event.step * load;
      Nanoseconds& end = ends.try_emplace(event.step, event.end).first->second;
      end = std::max(end, event.end);
    }
  }
  for (const auto& [step, end] : ends) {
    if (step == ends.rbegin()->first) break;
    Event& event = timeline.track(0, kComputeLane).events.emplace_back();
    event.begin = end;
    event.end = end + load;
    event.kind = JobKind::kData;
    event.step = step + 1;
  }
  timeline.sort();
  return timeline;
}

}  // namespace pipetrace
