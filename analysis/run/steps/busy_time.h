#pragma once

#include "analysis/run/steps/interval.h"
#include "analysis/run/steps/rank_jobs.h"

namespace pipetrace {

/// The union of a rank's compute jobs (isCompute) over all its lanes and steps: the u_i of
/// docs/metrics.md before it is cut to a window. It takes no memory, because callers ask for one
/// window after the other: each must begin where the one before ended, or later.
class BusyTime {
 public:
  /// `timeline` must be sorted, and stay as it is.
  BusyTime(const Timeline& timeline, int rank);

  /// The busy time in `window`.
  Nanoseconds in(Interval window);

  /// Calls `visit` with each part of `window` that is not busy, ascending. Their lengths and
  /// in(window) add up to the window.
  template <typename Visit>
  void visitGaps(Interval window, const Visit& visit) {
    Nanoseconds free = window.begin;
    visitBusy(window, [&](const Interval& busy) {
      if (busy.begin > free) visit(Interval{free, busy.begin});
      free = busy.end;
    });
    if (free < window.end) visit(Interval{free, window.end});
  }

 private:
  /// Calls `visit` with each busy interval that shares time with `window`, not cut to it.
  template <typename Visit>
  void visitBusy(Interval window, const Visit& visit) {
    while (isBusy_ && busy_.end <= window.begin) advance();
    for (; isBusy_ && busy_.begin < window.end; advance()) {
      visit(busy_);
      if (busy_.end > window.end) break;  // the next window may need it, too
    }
  }

  void advance();
  const Event* nextJob();

  RankJobs jobs_;
  const Event* ahead_ = nullptr;  // the first job after busy_
  Interval busy_;
  bool isBusy_ = false;  // not yet at the end
};

}  // namespace pipetrace
