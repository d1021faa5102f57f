#pragma once

#include <optional>
#include <vector>

#include "chart/chart_model.h"
#include "chart/search/job_matcher.h"
#include "chart/search/match_list.h"

namespace pipetrace {

/// A search over all events of a model, slice by slice, so that it can be shown while it goes on,
/// and dropped at any time. Refers to the model.
class JobSearch {
 public:
  JobSearch(const ChartModel& model, SearchQuery query);

  /// Looks at about `events` more events. Returns whether the search is done.
  bool advance(std::size_t events);
  bool isDone() const { return lane_ == lanes_.size(); }
  /// The matches so far.
  const MatchList& matches() const { return matches_; }

 private:
  void addLanes(std::size_t row, const std::vector<LaneIndex>& lanes, bool isBubbles,
                bool isAllowed);
  void beginLane();

  JobMatcher matcher_;
  std::vector<MatchList::Lane> lanes_;  // to look at
  std::uint32_t laneCount_ = 0;
  std::size_t lane_ = 0;
  std::size_t position_ = 0;
  MatchList matches_;
};

/// The first match in time; nothing if there is none. Looks at all events.
std::optional<ChartHit> firstMatch(const ChartModel& model, const SearchQuery& query);

}  // namespace pipetrace
