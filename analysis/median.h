#pragma once

#include <algorithm>
#include <vector>

namespace pipetrace {

/// The median; of an even count the mean of the middle two, of whole numbers rounded down. 0 for
/// none. Reorders the values.
template <typename Value>
Value medianOf(std::vector<Value>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const Value lower = *std::max_element(values.begin(), middle);
  return lower + (*middle - lower) / 2;
}

/// The median; of an even count the lower one of the middle two. There must be a value. Reorders
/// them.
template <typename Value>
Value lowerMedianOf(std::vector<Value>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace pipetrace
