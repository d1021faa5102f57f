#pragma once

#include <cstdint>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Sums divided by one weight, in whole nanoseconds that add up to the rounded mean of all of them
/// together. Each mean is rounded down. The nanoseconds that are then missing go to those with the
/// largest remainders, of equal ones to the first (the method of Hare and Niemeyer). So each is
/// less than 1 ns off. `sums`: none is negative, and all together fit Nanoseconds. `weight` > 0.
std::vector<Nanoseconds> exactMeans(const std::vector<Nanoseconds>& sums, std::int64_t weight);

/// A sum divided by its weight > 0, rounded half up.
Nanoseconds roundedMean(Nanoseconds sum, std::int64_t weight);

}  // namespace pipetrace
