#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "chart/chart_hit.h"
#include "chart/chart_model.h"
#include "chart/lane_index.h"
#include "chart/search/job_matcher.h"

namespace pipetrace {

/// A match by its place. Matches are in the order of their begins, then of lanes from top to
/// bottom.
struct MatchPlace {
  Nanoseconds begin = 0;
  std::uint32_t lane = 0;      ///< of all lanes of the model, the sub-lanes and bubbles of each row
  std::uint32_t position = 0;  ///< in the lane

  auto operator<=>(const MatchPlace&) const = default;
};

/// The matches of a search, lane by lane, so that neighbours and counts are found without sorting.
/// Refers to the model that was searched.
class MatchList {
 public:
  /// The matches in one lane.
  struct Lane {
    std::size_t row = 0;
    std::uint32_t number = 0;  ///< MatchPlace::lane
    bool isBubbles = false;
    std::size_t subLane = 0;  ///< of `subLanes` of the row; its bubbles count by themselves
    std::size_t subLanes = 1;
    const LaneIndex* index = nullptr;
    std::vector<std::uint32_t> positions;  ///< ascending
  };

  /// Adds a match. Lanes and positions must come in ascending order.
  void add(const Lane& lane, std::uint32_t position);

  std::size_t size() const { return size_; }
  /// The lanes with matches, by row.
  const std::vector<Lane>& lanes() const { return lanes_; }

  /// The first match at `place` or after it; nothing if there is none.
  std::optional<MatchPlace> firstFrom(const MatchPlace& place) const;
  /// The last match before `place`; nothing if there is none.
  std::optional<MatchPlace> lastBefore(const MatchPlace& place) const;
  /// How many matches come before `place`. All three take time logarithmic in the matches of a
  /// lane, and linear in the lanes.
  std::size_t countBefore(const MatchPlace& place) const;
  /// The event at a place that the list returned.
  ChartHit hitOf(const MatchPlace& place) const;

 private:
  static std::size_t countBefore(const Lane& lane, const MatchPlace& place);
  static MatchPlace placeOf(const Lane& lane, std::size_t i);

  std::vector<Lane> lanes_;
  std::size_t size_ = 0;
};

/// A search over all events of a model, slice by slice, so that it can be shown while it goes on,
/// and dropped at any time. Refers to the model.
class JobSearch {
 public:
  /// `usual`: as for JobMatcher.
  JobSearch(const ChartModel& model, SearchQuery query,
            std::shared_ptr<const UsualTimes> usual = nullptr);

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
