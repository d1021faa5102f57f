#include "trace/step_windows.h"

#include <map>

#include "trace/per_step.h"
#include "trace/topology.h"

namespace pipetrace {

std::vector<StepWindow> stepWindows(const Timeline& timeline) {
  struct Replica {
    PerStep<StepTimes> steps;
    FullPipeline full;  // of its first rank
  };
  const Topology topology = topologyOf(timeline);
  std::map<int, Replica> replicas;
  const auto& tracks = timeline.tracks;
  for (auto track = tracks.begin(); track != tracks.end();) {
    const int rank = track->rank;
    const auto place = topology.places.find(rank);
    PerStep<StepTimes> ofRank;
    FullPipeline full;
    for (; track != tracks.end() && track->rank == rank; ++track) {
      if (place == topology.places.end()) continue;  // a rank that computes nothing
      for (const Event& event : track->events) {
        if (!isOfStep(event.kind) || event.step == kNotGiven) continue;
        ofRank[event.step].add(event);
        full.add(event);
      }
    }
    if (place == topology.places.end()) continue;
    Replica& replica = replicas[place->second.replica];
    if (place->second.position == 0) replica.full = full;
    for (const auto& [step, times] : ofRank.take()) replica.steps[step].add(times);
  }
  const std::vector<Nanoseconds> partBegins = partBeginsOf(timeline);
  std::vector<StepWindow> windows;
  for (auto& [number, replica] : replicas) {
    const std::size_t first = windows.size();
    bool isAsynchronous = false;
    for (const auto& [step, times] : replica.steps.take()) {
      if (!times.hasCompute) continue;
      isAsynchronous = isAsynchronous || times.isAsynchronous;
      windows.push_back({.step = step, .replica = number, .begin = times.begin, .end = times.end});
    }
    if (isAsynchronous) joinAsynchronousSteps(windows, first, replica.full, partBegins);
    cutWindows(std::span(windows).subspan(first), partBegins);
  }
  return windows;
}

}  // namespace pipetrace
