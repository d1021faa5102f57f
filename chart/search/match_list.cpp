#include "chart/search/match_list.h"

#include <algorithm>

namespace pipetrace {

void MatchList::add(const Lane& lane, std::uint32_t position) {
  if (lanes_.empty() || lanes_.back().number != lane.number) lanes_.push_back(lane);
  lanes_.back().positions.push_back(position);
  ++size_;
}

MatchPlace MatchList::placeOf(const Lane& lane, std::size_t i) {
  const std::uint32_t position = lane.positions[i];
  return {(*lane.index)[position].begin, lane.number, position};
}

std::size_t MatchList::countBefore(const Lane& lane, const MatchPlace& place) {
  const auto end = std::partition_point(
      lane.positions.begin(), lane.positions.end(), [&](std::uint32_t position) {
        return MatchPlace{(*lane.index)[position].begin, lane.number, position} < place;
      });
  return static_cast<std::size_t>(end - lane.positions.begin());
}

std::optional<MatchPlace> MatchList::firstFrom(const MatchPlace& place) const {
  std::optional<MatchPlace> first;
  for (const Lane& lane : lanes_) {
    const std::size_t i = countBefore(lane, place);
    if (i == lane.positions.size()) continue;
    const MatchPlace candidate = placeOf(lane, i);
    if (!first || candidate < *first) first = candidate;
  }
  return first;
}

std::optional<MatchPlace> MatchList::lastBefore(const MatchPlace& place) const {
  std::optional<MatchPlace> last;
  for (const Lane& lane : lanes_) {
    const std::size_t i = countBefore(lane, place);
    if (i == 0) continue;
    const MatchPlace candidate = placeOf(lane, i - 1);
    if (!last || *last < candidate) last = candidate;
  }
  return last;
}

std::size_t MatchList::countBefore(const MatchPlace& place) const {
  std::size_t count = 0;
  for (const Lane& lane : lanes_) count += countBefore(lane, place);
  return count;
}

ChartHit MatchList::hitOf(const MatchPlace& place) const {
  const auto lane = std::find_if(lanes_.begin(), lanes_.end(),
                                 [&](const Lane& each) { return each.number == place.lane; });
  return {.row = lane->row,
          .event = &(*lane->index)[place.position],
          .count = 1,
          .load = {},
          .span = 0};
}

}  // namespace pipetrace
