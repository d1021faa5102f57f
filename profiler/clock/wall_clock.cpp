#include "profiler/clock/wall_clock.h"

#include <ctime>

namespace pipetrace {
namespace {

constexpr int kReadings = 32;

Nanoseconds now(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

}  // namespace

Nanoseconds monotonicNow() noexcept { return now(CLOCK_MONOTONIC); }

WallClock WallClock::skewed(const ClockSkew& skew, Nanoseconds begin) const noexcept {
  WallClock wrong = *this;
  wrong.skew_ = skew;
  wrong.skewBegin_ = begin;
  return wrong;
}

WallClock WallClock::read() noexcept {
  WallClock best;
  Nanoseconds narrowest = kNsMax;
  for (int i = 0; i < kReadings; ++i) {
    const Nanoseconds before = monotonicNow();
    const Nanoseconds wall = now(CLOCK_REALTIME);
    const Nanoseconds after = monotonicNow();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best.offset_ = wall - (before + narrowest / 2);
    best.uncertainty_ = narrowest - narrowest / 2;
  }
  return best;
}

}  // namespace pipetrace
