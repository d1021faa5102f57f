#include "trace/step_windows.h"

#include <map>

#include "trace/per_step.h"
#include "trace/topology.h"

namespace pipetrace {

std::vector<StepWindow> stepWindows(const Timeline& timeline) {
  const Topology topology = topologyOf(timeline);
  std::map<int, PerStep<StepTimes>> replicas;
  for (const Track& track : timeline.tracks) {
    const auto place = topology.places.find(track.rank);
    if (place == topology.places.end()) continue;  // a rank that computes nothing
    PerStep<StepTimes>& times = replicas[place->second.replica];
    for (const Event& event : track.events) {
      if (isOfStep(event.kind) && event.step != kNotGiven) times[event.step].add(event);
    }
  }
  const std::vector<Nanoseconds> partBegins = partBeginsOf(timeline);
  std::vector<StepWindow> windows;
  for (auto& [replica, steps] : replicas) {
    const std::size_t first = windows.size();
    for (const auto& [step, times] : steps.take()) {
      if (!times.hasCompute) continue;
      windows.push_back({.step = step, .replica = replica, .begin = times.begin, .end = times.end});
    }
    cutWindows(std::span(windows).subspan(first), partBegins);
  }
  return windows;
}

}  // namespace pipetrace
