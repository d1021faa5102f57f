#include "chart/statistics/duration_histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace pipetrace {
namespace {

constexpr Nanoseconds kFarApart = 50;

/// The edge a part of the way from `from` to `to`.
Nanoseconds edgeAt(Nanoseconds from, Nanoseconds to, double part, bool isLogarithmic) {
  const auto low = static_cast<double>(from);
  const auto high = static_cast<double>(to) + (isLogarithmic ? 0 : 1);
  if (!isLogarithmic) return from + static_cast<Nanoseconds>((high - low) * part);
  return static_cast<Nanoseconds>(std::llround(low * std::pow(high / low, part)));
}

}  // namespace

std::size_t DurationHistogram::binOf(Nanoseconds duration) const {
  const auto after = std::upper_bound(edges.begin() + 1, edges.end() - 1, duration);
  return static_cast<std::size_t>(after - edges.begin()) - 1;
}

DurationHistogram histogramBins(Nanoseconds shortest, Nanoseconds longest, std::size_t most) {
  DurationHistogram bins;
  const Nanoseconds from = std::max<Nanoseconds>(shortest, 1);
  bins.isLogarithmic = longest / kFarApart >= from;
  // Durations without a length stand in the first bin of a logarithmic scale, too.
  const Nanoseconds first = bins.isLogarithmic ? from : shortest;
  bins.edges.push_back(shortest);
  for (std::size_t i = 1; i < most; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(most);
    const Nanoseconds edge = edgeAt(first, longest, part, bins.isLogarithmic);
    if (edge > bins.edges.back() && edge <= longest) bins.edges.push_back(edge);
  }
  bins.edges.push_back(longest == kNsMax ? longest : longest + 1);
  bins.counts.resize(bins.edges.size() - 1);
  return bins;
}

void countInto(DurationHistogram& histogram, std::span<const Nanoseconds> durations) {
  // The search begins at the bin of the shortest duration with the same six leading bits.
  constexpr std::size_t kSmall = 32;  // durations below it have slots of their own
  const auto slotOf = [](Nanoseconds duration) -> std::size_t {
    const auto value = static_cast<std::uint64_t>(duration);
    if (value < kSmall) return value;
    const auto shift = static_cast<std::size_t>(std::bit_width(value)) - 6;
    return kSmall + shift * kSmall + (value >> shift) % kSmall;
  };
  std::array<std::uint8_t, 60 * kSmall> firstBin{};
  for (std::size_t slot = 0; slot < firstBin.size(); ++slot) {
    const std::size_t shift = slot < kSmall ? 0 : slot / kSmall - 1;
    if (shift > 57) break;  // beyond the longest duration
    const std::size_t leading = slot < kSmall ? slot : kSmall + slot % kSmall;
    firstBin[slot] =
        static_cast<std::uint8_t>(histogram.binOf(static_cast<Nanoseconds>(leading << shift)));
  }
  const std::vector<Nanoseconds>& edges = histogram.edges;
  const std::size_t last = histogram.counts.size() - 1;
  for (const Nanoseconds duration : durations) {
    std::size_t bin = firstBin[slotOf(duration)];
    while (bin < last && duration >= edges[bin + 1]) ++bin;
    ++histogram.counts[bin];
  }
}

}  // namespace pipetrace
