#include "analysis/clocks/rank_clock.h"

#include <algorithm>

namespace pipetrace {
namespace {

__extension__ using Wide = __int128;

Wide atRankZero(const ClockReading& reading) { return Wide{reading.when} + reading.offset; }

Nanoseconds clamped(Wide time) {
  return static_cast<Nanoseconds>(std::clamp<Wide>(time, kNsMin, kNsMax));
}

/// Rounds towards minus infinity on both sides of zero; `b` is above zero.
Wide floorDivide(Wide a, Wide b) { return a / b - static_cast<Wide>(a % b < 0); }

}  // namespace

RankClock::RankClock(std::vector<ClockReading> readings) {
  std::stable_sort(readings.begin(), readings.end(),
                   [](const ClockReading& a, const ClockReading& b) { return a.when < b.when; });
  for (const ClockReading& reading : readings) add(reading);
}

void RankClock::add(const ClockReading& reading) {
  constexpr Nanoseconds kFarthest = kNsMax / 2;  // 146 years; products with it fit 128 bits
  if (reading.offset > kFarthest || reading.offset < -kFarthest) {
    ++contradictions_;
    return;
  }
  while (!readings_.empty()) {
    const ClockReading& last = readings_.back();
    if (reading.when > last.when && atRankZero(reading) > atRankZero(last)) break;
    if (reading.when != last.when || reading.offset != last.offset) ++contradictions_;
    if (reading.bound >= last.bound) return;
    readings_.pop_back();
  }
  readings_.push_back(reading);
}

Nanoseconds RankClock::toRankZero(Nanoseconds time) const {
  const auto after =
      std::upper_bound(readings_.begin(), readings_.end(), time,
                       [](Nanoseconds t, const ClockReading& reading) { return t < reading.when; });
  if (after == readings_.begin()) return clamped(Wide{time} + after->offset);
  const ClockReading& before = *(after - 1);
  if (after == readings_.end() || after->offset == before.offset) {
    return clamped(Wide{time} + before.offset);
  }
  const Wide rise = Wide{after->offset} - before.offset;
  const Wide passed = Wide{time} - before.when;
  const Wide run = Wide{after->when} - before.when;
  // As a rule the product fits 64 bits, where a division is many times as fast.
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(rise, passed, &product) && run <= kNsMax) {
    const auto run64 = static_cast<std::int64_t>(run);
    const std::int64_t share = product / run64 - static_cast<int>(product % run64 < 0);
    return clamped(Wide{time} + before.offset + share);
  }
  return clamped(Wide{time} + before.offset + floorDivide(rise * passed, run));
}

}  // namespace pipetrace
