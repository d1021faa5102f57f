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

/// Finds the stretch whose values are clearly higher than all others: at least kLeastCount values
/// inside and outside, medians that differ by kLeastFactor, and nine tenths of either side on their
/// own side of the middle between the medians. Without one that is as clear there is none.
///
/// It is the stretch with the largest sum of centred ranks: the rank statistic of Pettitt, "A
/// Non-Parametric Approach to the Change-Point Problem", 1979, for two changes instead of one. So a
/// few values of any size do not make one. Takes time n log n.
std::optional<HighStretch> highStretchOf(std::span<const double> values);

inline constexpr std::size_t kLeastCount = 4;
inline constexpr double kLeastFactor = 1.1;

}  // namespace pipetrace
