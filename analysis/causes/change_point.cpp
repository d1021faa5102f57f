#include "analysis/causes/change_point.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/median.h"

namespace pipetrace {
namespace {

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

/// The stretch that holds most of the values above a threshold, and few others. It is that of the
/// threshold that parts the values best.
std::pair<std::size_t, std::size_t> roughStretch(std::span<const double> values) {
  constexpr std::size_t kThresholds = 32;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t most = values.size() - kLeastCount;
  const std::size_t stride = 1 + (most - kLeastCount) / kThresholds;
  const auto count = static_cast<double>(values.size());
  std::pair<std::size_t, std::size_t> best{0, 0};
  double largest = 0;
  std::vector<double> scores(values.size());
  for (std::size_t k = kLeastCount; k <= most; k += stride) {
    const double threshold = sorted[k - 1];
    const auto isAbove = [&](double value) { return value > threshold; };
    const double above =
        static_cast<double>(std::count_if(values.begin(), values.end(), isAbove)) / count;
    if (above == 0) break;
    // They add up to 0 over all values, and to the most that is possible over a stretch that has
    // all values above the threshold and no others.
    std::transform(values.begin(), values.end(), scores.begin(),
                   [&](double value) { return isAbove(value) ? 1 - above : -above; });
    const auto stretch = largestSum(scores);
    const auto first = scores.begin() + static_cast<std::ptrdiff_t>(stretch.first);
    const auto end = scores.begin() + static_cast<std::ptrdiff_t>(stretch.second);
    const double share = std::accumulate(first, end, 0.0) / (count * above * (1 - above));
    if (share <= largest) continue;
    largest = share;
    best = stretch;
  }
  return best;
}

}  // namespace

std::optional<HighStretch> highStretchOf(std::span<const double> values) {
  if (values.size() < 2 * kLeastCount) return std::nullopt;
  const auto rough = measured(values, roughStretch(values));
  if (!rough) return std::nullopt;
  // The threshold was one of the values; the middle parts them as well as it can be done.
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
  const bool isClear = 10 * aboveInside >= 9 * count && 10 * aboveOutside <= values.size() - count;
  return isClear ? found : std::nullopt;
}

}  // namespace pipetrace
