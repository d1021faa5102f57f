#include "analysis/diff/exact_means.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace pipetrace {

Nanoseconds roundedMean(Nanoseconds sum, std::int64_t weight) {
  const std::int64_t rest = sum % weight;
  return sum / weight + (rest >= weight - rest ? 1 : 0);
}

std::vector<Nanoseconds> exactMeans(const std::vector<Nanoseconds>& sums, std::int64_t weight) {
  std::vector<Nanoseconds> means;
  means.reserve(sums.size());
  for (const Nanoseconds sum : sums) means.push_back(sum / weight);
  const Nanoseconds all = std::accumulate(sums.begin(), sums.end(), Nanoseconds{});
  const Nanoseconds missing =
      roundedMean(all, weight) - std::accumulate(means.begin(), means.end(), Nanoseconds{});
  std::vector<std::size_t> order(sums.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sums[a] % weight > sums[b] % weight;
  });
  for (std::size_t i = 0; i < static_cast<std::size_t>(missing); ++i) ++means[order[i]];
  return means;
}

}  // namespace pipetrace
