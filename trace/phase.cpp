#include "trace/phase.h"

#include "trace/timeline.h"

namespace pipetrace {

Phase countedPhaseOf(const Timeline& timeline) {
  std::optional<Phase> found;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCompute(event.kind)) continue;
      if (event.phase == Phase::kTraining) return Phase::kTraining;
      if (!found || event.phase < *found) found = event.phase;
    }
  }
  return found.value_or(Phase::kTraining);
}

}  // namespace pipetrace
