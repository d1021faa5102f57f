#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chart/colors/job_colors.h"
#include "trace/event.h"

namespace pipetrace {

/// The load of a stretch of time in a lane: the time that events cover, and their mean colour,
/// weighted by time (white if there are none).
struct LaneLoad {
  Nanoseconds busy = 0;
  Color color{255, 255, 255};
};

/// The events of one sub-lane, which do not overlap. Sums over them give the exact load of any
/// stretch of time, at a cost that does not depend on the number of events in it. Refers to the
/// events, which must outlive it. Immutable: several threads may read it.
class LaneIndex {
 public:
  LaneIndex() = default;
  /// Indexes all of `events`, which are in startsBefore order. Refers to `colors`, too.
  LaneIndex(std::span<const Event> events, const JobColors& colors);
  /// Indexes the `events` at the positions `members`, which ascend.
  LaneIndex(std::span<const Event> events, std::vector<std::uint32_t> members,
            const JobColors& colors);

  /// Sums up again, after the colours have changed. Not while another thread asks for loads.
  void recolor();

  std::size_t size() const { return members_.empty() ? events_.size() : members_.size(); }
  const Event& operator[](std::size_t i) const {
    return events_[members_.empty() ? i : members_[i]];
  }

  /// The first event at or after position `from` that begins at `time` or later; size() if none.
  std::size_t firstBeginningAt(Nanoseconds time, std::size_t from = 0) const;
  /// The first event that ends after `time`; size() if none.
  std::size_t firstEndingAfter(Nanoseconds time) const;

  /// The load of [begin, end), counting only the events at positions [first, last).
  LaneLoad load(std::size_t first, std::size_t last, Nanoseconds begin, Nanoseconds end) const;
  /// The load of [begin, end).
  LaneLoad load(Nanoseconds begin, Nanoseconds end) const;

 private:
  // Sums weighted by time. Unsigned, so that a sum over a whole run may wrap: differences stay
  // right.
  struct Sums {
    std::uint64_t busy = 0;
    std::uint64_t red = 0;
    std::uint64_t green = 0;
    std::uint64_t blue = 0;
  };

  void build();
  void addEvent(Sums& sums, std::size_t i, Nanoseconds begin, Nanoseconds end) const;
  Sums sumsBefore(std::size_t i) const;

  const JobColors* colors_ = nullptr;  // null only without events
  std::span<const Event> events_;
  std::vector<std::uint32_t> members_;    // empty: all events
  std::vector<Sums> blockSums_;           // of all events before the block
  std::vector<Nanoseconds> blockBegins_;  // of the first event of the block
};

}  // namespace pipetrace
