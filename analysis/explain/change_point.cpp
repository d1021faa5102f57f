#include "analysis/explain/change_point.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/median.h"

namespace pipetrace {
namespace {

/// Twice the rank of each value − (n + 1); equal values share the mean of their ranks. The numbers
/// add up to 0.
std::vector<double> centredRanks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  const auto count = static_cast<double>(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const auto sumOfEnds = static_cast<double>(i + end);  // first and last rank, from 0 and from 1
    for (; i < end; ++i) ranks[order[i]] = sumOfEnds + 1 - (count + 1);
  }
  return ranks;
}

/// The stretch with the largest sum.
std::pair<std::size_t, std::size_t> largestSum(const std::vector<double>& values) {
  std::pair<std::size_t, std::size_t> best{0, 0};
  double most = 0;
  double sum = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (sum <= 0) {
      sum = 0;
      begin = i;
    }
    sum += values[i];
    if (sum <= most) continue;
    most = sum;
    best = {begin, i + 1};
  }
  return best;
}

/// The stretch and its medians, if both sides have enough values.
std::optional<HighStretch> measured(std::span<const double> values,
                                    std::pair<std::size_t, std::size_t> stretch) {
  const auto [begin, end] = stretch;
  const std::size_t count = end - begin;
  if (count < kLeastCount || values.size() - count < kLeastCount) return std::nullopt;
  std::vector<double> inside(values.begin() + static_cast<std::ptrdiff_t>(begin),
                             values.begin() + static_cast<std::ptrdiff_t>(end));
  std::vector<double> outside(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(begin));
  outside.insert(outside.end(), values.begin() + static_cast<std::ptrdiff_t>(end), values.end());
  return HighStretch{begin, end, lowerMedianOf(inside), lowerMedianOf(outside)};
}

}  // namespace

std::optional<HighStretch> highStretchOf(std::span<const double> values) {
  if (values.size() < 2 * kLeastCount) return std::nullopt;
  const auto rough = measured(values, largestSum(centredRanks(values)));
  if (!rough) return std::nullopt;
  // Ranks are many inside a long stretch, and its first values may have low ones. Only the side of
  // the middle counts now.
  const double middle = (rough->inside + rough->outside) / 2;
  std::vector<double> sides;
  for (const double value : values) sides.push_back(value > middle ? 1 : -1);
  const auto found = measured(values, largestSum(sides));
  if (!found || found->outside <= 0 || found->inside < kLeastFactor * found->outside) {
    return std::nullopt;
  }
  std::size_t above = 0;
  std::size_t aboveInside = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool isInside = i >= found->begin && i < found->end;
    if (sides[i] < 0) continue;
    ++above;
    aboveInside += isInside ? 1 : 0;
  }
  const std::size_t count = found->end - found->begin;
  const std::size_t aboveOutside = above - aboveInside;
  const bool isClear =
      10 * aboveInside >= 9 * count && 10 * aboveOutside <= values.size() - count;
  return isClear ? found : std::nullopt;
}

}  // namespace pipetrace
