#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace pipetrace {

/// A stretch of values that is higher than the rest.
struct HighStretch {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< the first after it
  double inside = 0;    ///< the median of its values
  double outside = 0;   ///< that of the others
};

/// Finds the stretch whose values are clearly higher than all others. It has at least kLeastCount
/// values inside and outside, and the medians differ by kLeastFactor. Nine tenths of the values
/// inside are above the middle between the medians, and nine tenths of those outside below it. If
/// no stretch is as clear, there is none.
///
/// Values count by the side of a threshold they are on, so a few of any size do not make a stretch.
/// (For one change this is the idea of Pettitt, "A Non-Parametric Approach to the Change-Point
/// Problem", 1979.) Takes time n log n.
std::optional<HighStretch> highStretchOf(std::span<const double> values);

inline constexpr std::size_t kLeastCount = 4;
inline constexpr double kLeastFactor = 1.1;

}  // namespace pipetrace
