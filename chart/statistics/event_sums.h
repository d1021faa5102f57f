#pragma once

#include <algorithm>
#include <cstddef>

#include "trace/event.h"

namespace pipetrace {

/// Adds times; stays at the largest number instead of going beyond it.
inline Nanoseconds addedTimes(Nanoseconds a, Nanoseconds b) {
  Nanoseconds sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kNsMax : sum;
}

/// Sums over events that are at least partly in a stretch of time.
struct EventSums {
  std::size_t count = 0;
  Nanoseconds inside = 0;         ///< the parts of the events that are in the stretch
  Nanoseconds whole = 0;          ///< the whole events
  Nanoseconds shortest = kNsMax;  ///< whole duration of an event
  Nanoseconds longest = kNsMin;

  void add(Nanoseconds duration, Nanoseconds part) {
    ++count;
    inside = addedTimes(inside, part);
    whole = addedTimes(whole, duration);
    shortest = std::min(shortest, duration);
    longest = std::max(longest, duration);
  }
  void add(const EventSums& other) {
    count += other.count;
    inside = addedTimes(inside, other.inside);
    whole = addedTimes(whole, other.whole);
    shortest = std::min(shortest, other.shortest);
    longest = std::max(longest, other.longest);
  }
  /// The mean of the whole durations; 0 for no event.
  double mean() const {
    return count == 0 ? 0 : static_cast<double>(whole) / static_cast<double>(count);
  }
};

/// Whether an event is at least partly in [begin, end). One without a length is, if it begins
/// there.
inline bool isIn(const Event& event, Nanoseconds begin, Nanoseconds end) {
  if (event.begin == event.end) return event.begin >= begin && event.begin < end;
  return event.begin < end && event.end > begin;
}

}  // namespace pipetrace
