#include "trace/log/clock_anchors.h"

#include <algorithm>

namespace pipetrace {
namespace {

__extension__ using Wide = __int128;

/// Rounds towards minus infinity on both sides of zero; else the line would have a step at zero.
Wide floorDivide(Wide a, Wide b) {
  const Wide quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Nanoseconds onLine(const ClockAnchor& a, const ClockAnchor& b, const ClockAnchor& from,
                   std::uint64_t ticks) {
  const auto distance = static_cast<std::int64_t>(ticks - from.ticks);
  const auto run = static_cast<std::int64_t>(b.ticks - a.ticks);
  const Wide rise = b.monotonic - a.monotonic;
  return static_cast<Nanoseconds>(from.monotonic + floorDivide(distance * rise, run));
}

}  // namespace

Nanoseconds monotonicAt(std::span<const ClockAnchor> anchors, std::uint64_t ticks) {
  const ClockAnchor& first = anchors.front();
  const ClockAnchor& last = anchors.back();
  if (ticks >= last.ticks) return onLine(first, last, last, ticks);
  if (ticks < first.ticks) return onLine(first, last, first, ticks);
  const auto after = std::upper_bound(
      anchors.begin(), anchors.end(), ticks,
      [](std::uint64_t value, const ClockAnchor& anchor) { return value < anchor.ticks; });
  return onLine(*(after - 1), *after, *(after - 1), ticks);
}

}  // namespace pipetrace
