#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "chart/chart_hit.h"
#include "chart/lane_index.h"

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

}  // namespace pipetrace
