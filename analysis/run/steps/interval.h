#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A half-open interval: [begin, end).
struct Interval {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;

  Nanoseconds length() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

/// Sorts by begin. Lists that are sorted in a few long pieces, as those of several lanes one after
/// the other, take a few passes.
inline void sortByBegin(std::vector<Interval>& list) {
  const auto isBefore = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  constexpr std::size_t kFew = 64;
  std::vector<std::vector<Interval>::iterator> pieces{list.begin()};
  while (pieces.back() != list.end() && pieces.size() <= kFew) {
    pieces.push_back(std::is_sorted_until(pieces.back(), list.end(), isBefore));
  }
  if (pieces.back() != list.end()) return std::sort(list.begin(), list.end(), isBefore);
  while (pieces.size() > 2) {
    std::vector<std::vector<Interval>::iterator> merged{list.begin()};
    for (std::size_t i = 2; i < pieces.size(); i += 2) {
      std::inplace_merge(pieces[i - 2], pieces[i - 1], pieces[i], isBefore);
      merged.push_back(pieces[i]);
    }
    if (merged.back() != list.end()) merged.push_back(list.end());
    pieces = std::move(merged);
  }
}

/// The union of intervals, ascending: those that touch or overlap are joined.
inline std::vector<Interval> unionOf(std::vector<Interval> all) {
  sortByBegin(all);
  std::vector<Interval> joined;
  for (const Interval& each : all) {
    if (each.end <= each.begin) continue;
    if (!joined.empty() && each.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, each.end);
    } else {
      joined.push_back(each);
    }
  }
  return joined;
}

inline Nanoseconds lengthOf(const std::vector<Interval>& intervals) {
  Nanoseconds length = 0;
  for (const Interval& each : intervals) length += each.length();
  return length;
}

/// The numbers from `begin` on that are below `end`.
struct NumberRange {
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();

  std::int64_t begin = 0;
  std::int64_t end = kOpen;

  bool contains(std::int64_t number) const { return begin <= number && number < end; }
};

inline bool isIn(const std::vector<NumberRange>& ranges, std::int64_t number) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const NumberRange& range) { return range.contains(number); });
}

}  // namespace pipetrace
