#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chart/draw/color.h"
#include "trace/event.h"

namespace pipetrace {

/// What is in a stretch of time of a lane: how much of it is covered, and the colour of what covers
/// it, weighted by time (paper white when nothing does).
struct LaneLoad {
  Nanoseconds busy = 0;
  Color color{255, 255, 255};
};

/// The events of one sub-lane, which do not overlap, with sums that make the load of any stretch of
/// time exact at a cost that does not depend on how many events lie in it. Refers to the events,
/// which must outlive it. Immutable, so it may be read from several threads.
class LaneIndex {
 public:
  LaneIndex() = default;
  /// All of `events`, in startsBefore order.
  explicit LaneIndex(std::span<const Event> events);
  /// Those of `events` at the positions `members`, which ascend.
  LaneIndex(std::span<const Event> events, std::vector<std::uint32_t> members);

  std::size_t size() const { return members_.empty() ? events_.size() : members_.size(); }
  const Event& operator[](std::size_t i) const {
    return events_[members_.empty() ? i : members_[i]];
  }

  /// The first event at or after position `from` that begins at `time` or later; size() if none.
  std::size_t firstBeginningAt(Nanoseconds time, std::size_t from = 0) const;
  /// The first event that ends after `time`; size() if none.
  std::size_t firstEndingAfter(Nanoseconds time) const;

  /// What the events at positions [first, last) cover of [begin, end).
  LaneLoad load(std::size_t first, std::size_t last, Nanoseconds begin, Nanoseconds end) const;
  /// What all events cover of [begin, end).
  LaneLoad load(Nanoseconds begin, Nanoseconds end) const;

 private:
  // Time-weighted sums. Unsigned, so that a sum over a whole run may wrap: differences stay right.
  struct Sums {
    std::uint64_t busy = 0;
    std::uint64_t red = 0;
    std::uint64_t green = 0;
    std::uint64_t blue = 0;
  };

  void build();
  void addEvent(Sums& sums, std::size_t i, Nanoseconds begin, Nanoseconds end) const;
  Sums sumsBefore(std::size_t i) const;

  std::span<const Event> events_;
  std::vector<std::uint32_t> members_;    // empty: all events
  std::vector<Sums> blockSums_;           // of all events before the block
  std::vector<Nanoseconds> blockBegins_;  // of the first event of the block
};

}  // namespace pipetrace
