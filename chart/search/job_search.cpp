#include "chart/search/job_search.h"

#include <algorithm>
#include <limits>
#include <utility>

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

JobSearch::JobSearch(const ChartModel& model, SearchQuery query,
                     std::shared_ptr<const UsualTimes> usual)
    : matcher_(model.timeline(), std::move(query), std::move(usual)) {
  const std::vector<ChartRow>& rows = model.rows();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    addLanes(row, rows[row].lanes, false, matcher_.allowsLane(rows[row].rank, rows[row].lane));
    addLanes(row, rows[row].bubbles, true, matcher_.allowsLane(rows[row].rank, kBubbleLane));
  }
  beginLane();
}

void JobSearch::addLanes(std::size_t row, const std::vector<LaneIndex>& lanes, bool isBubbles,
                         bool isAllowed) {
  for (std::size_t i = 0; i < lanes.size(); ++i, ++laneCount_) {
    if (!isAllowed || lanes[i].size() == 0) continue;
    lanes_.push_back({.row = row,
                      .number = laneCount_,
                      .isBubbles = isBubbles,
                      .subLane = i,
                      .subLanes = lanes.size(),
                      .index = &lanes[i],
                      .positions = {}});
  }
}

void JobSearch::beginLane() {
  position_ = 0;
  if (isDone() || !matcher_.instant()) return;
  // One event may end where the next one begins, and both may be short.
  position_ = lanes_[lane_].index->firstEndingAfter(*matcher_.instant() - 1);
}

bool JobSearch::advance(std::size_t events) {
  while (!isDone() && events > 0) {
    const MatchList::Lane& lane = lanes_[lane_];
    const LaneIndex& index = *lane.index;
    const std::size_t last = position_ + std::min(events, index.size() - position_);
    events -= last - position_;
    for (; position_ < last; ++position_) {
      const Event& event = index[position_];
      if (matcher_.instant() && event.begin > *matcher_.instant()) {
        position_ = index.size();
        break;
      }
      if (matcher_.matches(event)) matches_.add(lane, static_cast<std::uint32_t>(position_));
    }
    if (position_ < index.size()) continue;
    ++lane_;
    beginLane();
    if (events > 0) --events;  // many lanes without events take time, too
  }
  return isDone();
}

std::optional<ChartHit> firstMatch(const ChartModel& model, const SearchQuery& query) {
  JobSearch search(model, query);
  while (!search.advance(std::numeric_limits<std::size_t>::max())) {
  }
  const auto place = search.matches().firstFrom({kNsMin, 0, 0});
  if (!place) return std::nullopt;
  return search.matches().hitOf(*place);
}

}  // namespace pipetrace
