#pragma once

#include <algorithm>
#include <vector>

#include "analysis/steps/interval.h"

namespace pipetrace {

/// The union of intervals, ascending: those that touch or overlap are joined.
inline std::vector<Interval> unionOf(std::vector<Interval> all) {
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
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

}  // namespace pipetrace
