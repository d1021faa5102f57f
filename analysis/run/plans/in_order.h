#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pipetrace {

/// The length of the longest ascending subsequence of different numbers. O(n log n), and O(n) where
/// they ascend already.
std::size_t longestInOrder(std::span<const int> places);

/// Which of the numbers make up the longest ascending subsequence. `places` holds 0 .. n - 1, each
/// once. Where several are the longest, one with the most numbers at their own place counts. In
/// 2 1 0 the 1 stays, and 0 and 2 are taken to be swapped. O(n log n).
std::vector<bool> stayInOrder(std::span<const int> places);

}  // namespace pipetrace
