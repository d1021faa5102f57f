#pragma once

#include <string_view>
#include <vector>

#include "schedule/simulate/simulate.h"

namespace pipetrace::test {

inline const std::vector<Event>& eventsOf(const Simulation& simulation, int rank,
                                          std::string_view lane = kComputeLane) {
  return simulation.timeline.findTrack(rank, lane)->events;
}

}  // namespace pipetrace::test
