#include "chart/search/job_search.h"

#include <limits>
#include <utility>

namespace pipetrace {

JobSearch::JobSearch(const ChartModel& model, SearchQuery query)
    : matcher_(model.timeline(), std::move(query)) {
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
