#pragma once

#include <cstdint>
#include <limits>

namespace pipetrace {

/// The sum of two counts that stand in files, where any number can; the largest that there is
/// instead of more. Not for numbers below 0.
constexpr std::int64_t addCounts(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

}  // namespace pipetrace
