#pragma once

#include <vector>

#include "trace/rank_info.h"

namespace pipetrace {

/// What a rank's comparisons with rank 0's clock say of every other moment. Between two of them the
/// offset is on the straight line through both, before the first and after the last it is that of
/// the one that is nearest. All in integers.
class RankClock {
 public:
  /// `readings`: in any order. Of those that cannot all be true (rank 0's clock would stand still
  /// or run backwards between two of them, two offsets at one moment) the ones with the narrower
  /// bound are kept. Offsets of over a century are not believed.
  explicit RankClock(std::vector<ClockReading> readings);

  /// Those that are used, in their order.
  const std::vector<ClockReading>& readings() const { return readings_; }
  int contradictions() const { return contradictions_; }

  /// Rank 0's clock at the moment when this rank's showed `time`, rounded down. Never decreases
  /// with `time`. What is outside int64 becomes its nearest number. Needs a reading.
  Nanoseconds toRankZero(Nanoseconds time) const;

 private:
  void add(const ClockReading& reading);

  std::vector<ClockReading> readings_;
  int contradictions_ = 0;
};

}  // namespace pipetrace
