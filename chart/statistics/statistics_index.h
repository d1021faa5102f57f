#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "chart/statistics/event_sums.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Sums over blocks of events of each track, so that the sums of an area do not take a look at each
/// of its events. Building it reads all events once. Refers to the timeline, which must be sorted,
/// outlive it and stay as it is. Immutable: several threads may read it.
class StatisticsIndex {
 public:
  static constexpr std::size_t kBlock = 512;  ///< events of a block

  /// `threads`: 0 for one per core. Once `stop` is set, the index is made no further and must not
  /// be used.
  explicit StatisticsIndex(const Timeline& timeline, int threads = 0,
                           const std::atomic<bool>* stop = nullptr);

  struct Block {
    Nanoseconds firstBegin = 0;
    Nanoseconds lastEnd = 0;                                ///< the latest end
    std::vector<std::pair<std::uint64_t, EventSums>> sums;  ///< by sumsKey()
    // The compute jobs before the block cover busyBefore, and none ends after busyUpTo.
    Nanoseconds busyBefore = 0;
    Nanoseconds busyUpTo = kNsMin;

    bool meets(const Timeline::Span& time) const {
      return firstBegin < time.end && lastEnd >= time.begin;
    }
    bool isInside(const Timeline::Span& time) const {
      return firstBegin >= time.begin && lastEnd < time.end;
    }
  };

  const Timeline& timeline() const { return *timeline_; }
  const std::vector<Block>& blocks(std::size_t track) const { return tracks_[track]; }
  /// The positions of the block's events on the track.
  std::pair<std::size_t, std::size_t> eventsOf(std::size_t track, std::size_t block) const;

  /// The time before `time` in which the track has compute jobs. Jobs that overlap count once.
  Nanoseconds busyBefore(std::size_t track, Nanoseconds time) const;

 private:
  void addBusy(std::size_t track);

  const Timeline* timeline_;
  std::vector<std::vector<Block>> tracks_;
};

}  // namespace pipetrace
