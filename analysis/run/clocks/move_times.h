#pragma once

#include <map>
#include <vector>

#include "trace/rank_info.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Converts times of a rank to rank 0's clock, by the rank's comparisons with that clock. Between
/// two comparisons the offset lies on the straight line through both. Before the first and after
/// the last it is that of the nearest. Computes in integers only.
class RankClock {
 public:
  /// `readings`: in any order. Some cannot all be true: two offsets at one moment, or rank 0's
  /// clock would stand still or run backwards between two readings. Then those with the narrower
  /// bounds are kept. Offsets of over a century are dropped.
  explicit RankClock(std::vector<ClockReading> readings);

  /// The readings that are used, in the order of time.
  const std::vector<ClockReading>& readings() const { return readings_; }
  int contradictions() const { return contradictions_; }

  /// The time of rank 0's clock when this rank's clock showed `time`, rounded down. Never decreases
  /// with `time`. A result outside int64 becomes the nearest number in it. Needs a reading.
  Nanoseconds toRankZero(Nanoseconds time) const;

 private:
  void add(const ClockReading& reading);

  std::vector<ClockReading> readings_;
  int contradictions_ = 0;
};

/// By rank. Each has a reading.
using RankClocks = std::map<int, RankClock>;

/// Converts all times of the ranks that have a clock here, but for their clock readings. Sorts the
/// timeline. False, and nothing is moved, where times or the distances between them would not fit
/// 64 bits.
bool moveTimes(Timeline& timeline, const RankClocks& clocks);

/// The first and the last instant of each rank.
std::map<int, Timeline::Span> spansOfRanks(const Timeline& timeline, int threads = 1);

}  // namespace pipetrace
