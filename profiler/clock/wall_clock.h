#pragma once

#include "trace/clock_skew.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// CLOCK_MONOTONIC now, ns. Comparable between the processes of one host.
Nanoseconds monotonicNow() noexcept;

/// Turns readings of CLOCK_MONOTONIC into ns since the Unix epoch.
///
/// The relation of the two clocks is read once and then kept. If somebody sets the wall clock
/// during a run, times go on as before, so no duration ever becomes negative or wrong. Both clocks
/// are slewed alike, so readings taken by different ranks of one host agree to well under a
/// microsecond as long as the clock is not set in between. A plain value.
class WallClock {
 public:
  /// Reads the relation now: takes the one of several tries whose two readings are closest
  /// together.
  static WallClock read() noexcept;

  /// The same clock, wrong by `skew`, which counts from `begin` (CLOCK_MONOTONIC): for hosts that
  /// are made up.
  WallClock skewed(const ClockSkew& skew, Nanoseconds begin) const noexcept;

  Nanoseconds at(Nanoseconds monotonic) const noexcept {
    const Nanoseconds time = monotonic + offset_;
    return skew_.isZero() ? time : time + skew_.after(monotonic - skewBegin_);
  }
  /// Without the skew.
  Nanoseconds offset() const noexcept { return offset_; }
  /// The relation is off by at most this much.
  Nanoseconds uncertainty() const noexcept { return uncertainty_; }

 private:
  Nanoseconds offset_ = 0;
  Nanoseconds uncertainty_ = 0;
  ClockSkew skew_;
  Nanoseconds skewBegin_ = 0;
};

}  // namespace pipetrace
