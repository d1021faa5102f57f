#include "trace/sub_lanes.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace pipetrace {

std::vector<std::uint32_t> packSubLanes(std::span<const Event> events) {
  using Busy = std::pair<Nanoseconds, std::uint32_t>;  // (free from, sub-lane)
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
  std::uint32_t opened = 0;
  std::vector<std::uint32_t> lanes;
  lanes.reserve(events.size());
  for (const Event& event : events) {
    while (!busy.empty() && busy.top().first <= event.begin) {
      free.push(busy.top().second);
      busy.pop();
    }
    std::uint32_t lane = opened;
    if (free.empty()) {
      ++opened;
    } else {
      lane = free.top();  // the lowest: a lane without overlaps stays one row
      free.pop();
    }
    busy.emplace(event.end, lane);
    lanes.push_back(lane);
  }
  return lanes;
}

std::uint32_t subLaneCount(std::span<const std::uint32_t> subLanes) {
  if (subLanes.empty()) return 0;
  return 1 + *std::max_element(subLanes.begin(), subLanes.end());
}

}  // namespace pipetrace
