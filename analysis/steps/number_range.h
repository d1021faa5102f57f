#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace pipetrace {

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
