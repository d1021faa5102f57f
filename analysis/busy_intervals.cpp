#include "analysis/busy_intervals.h"

#include <algorithm>

namespace pipetrace {
namespace {

bool beginsBefore(const Interval& a, const Interval& b) { return a.begin < b.begin; }

/// The first of `busy` that reaches past `time`.
auto firstAfter(const std::vector<Interval>& busy, Nanoseconds time) {
  return std::partition_point(busy.begin(), busy.end(),
                              [&](const Interval& i) { return i.end <= time; });
}

}  // namespace

void unite(std::vector<Interval>& intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.length() <= 0; });
  if (!std::is_sorted(intervals.begin(), intervals.end(), beginsBefore)) {
    std::sort(intervals.begin(), intervals.end(), beginsBefore);
  }
  std::size_t kept = 0;
  for (const Interval& interval : intervals) {
    if (kept > 0 && interval.begin <= intervals[kept - 1].end) {
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, interval.end);
    } else {
      intervals[kept++] = interval;
    }
  }
  intervals.resize(kept);
}

std::vector<Interval> busyIntervals(const Timeline& timeline, int rank) {
  std::vector<Interval> busy;
  for (const Track& track : timeline.tracks) {
    if (track.rank != rank) continue;
    for (const Event& event : track.events) {
      if (isCompute(event.kind)) busy.push_back({event.begin, event.end});
    }
  }
  unite(busy);
  return busy;
}

std::vector<Interval> gapsIn(const std::vector<Interval>& busy, Interval window) {
  std::vector<Interval> gaps;
  Nanoseconds free = window.begin;
  for (auto i = firstAfter(busy, window.begin); i != busy.end() && i->begin < window.end; ++i) {
    if (i->begin > free) gaps.push_back({free, i->begin});
    free = i->end;
  }
  if (free < window.end) gaps.push_back({free, window.end});
  return gaps;
}

Nanoseconds busyIn(const std::vector<Interval>& busy, Interval window) {
  Nanoseconds sum = 0;
  for (auto i = firstAfter(busy, window.begin); i != busy.end() && i->begin < window.end; ++i) {
    sum += std::min(i->end, window.end) - std::max(i->begin, window.begin);
  }
  return sum;
}

}  // namespace pipetrace
