#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "trace/event.h"

namespace pipetrace {

/// How long each event of a track runs by itself, where events nest as calls do. Of each instant,
/// the event that runs and began last has it; of those that began together the shortest. So own
/// times add up to the time in which the track has events.
class OwnTimes {
 public:
  /// `events` are in startsBefore order. Linear. `block`: how many events are replayed at most for
  /// before().
  OwnTimes(std::span<const Event> events, std::size_t block);

  Nanoseconds of(std::size_t event) const { return own_[event]; }

  /// The own time that events which have begun by `time`, and may go on after it, have before it:
  /// positions and times, ascending. All that begin before `time` and end after it are among them.
  std::vector<std::pair<std::size_t, Nanoseconds>> before(std::span<const Event> events,
                                                          Nanoseconds time) const;

 private:
  /// An event that runs, or is under one that does.
  struct Open {
    std::size_t event = 0;
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    Nanoseconds own = 0;
  };
  /// The events that are open at an instant, the latest on top.
  struct Stack {
    std::vector<Open> open;
    Nanoseconds upTo = kNsMin;

    /// Gives the time up to `time` to those that have it. Those that end by then call `closed`.
    template <typename Closed>
    void advance(Nanoseconds time, const Closed& closed);
    void push(std::size_t event, const Event& times);
  };

  std::size_t block_;
  std::vector<Nanoseconds> own_;
  std::vector<Stack> atBlock_;  // before the first event of each block
};

}  // namespace pipetrace
